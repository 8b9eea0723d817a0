"""What a text states of other runs does not reach a row that it contradicts."""

from pathlib import Path

import pytest

from bench.ingest.documents.agreement import agreeing
from bench.ingest.documents.fact import Fact
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from tests.reaching import TABLE, reached


def fact(field: str, value: str, group: int = 1) -> Fact:
    return Fact(field, value, f"{field}={value}", group, "line", group=group)


@pytest.mark.parametrize(
    ("facts", "own", "kept"),
    [
        ({"layers": "70", "hidden": "14336"}, {"size": 176.0}, {"layers", "hidden"}),
        ({"layers": "96", "hidden": "13312"}, {"size": 145.0}, set()),
        ({"layers": "96", "tp": "8"}, {"size": 145.0, "hidden": 13312.0}, {"tp"}),
        ({"layers": "96", "hidden": "13312"}, {"heads": 112.0}, set()),
        ({"tp": "1", "pp": "96"}, {"devices": 80.0}, set()),
        ({"tp": "8", "pp": "10"}, {"devices": 160.0}, {"tp", "pp"}),
        ({"mbs": "4"}, {"gbs": 6.0, "dp": 2.0}, set()),
        ({"layers": "24"}, {"size": 1.3}, {"layers"}),
    ],
)
def test_what_a_row_takes(facts: dict[str, str], own: dict[str, float], kept: set[str]) -> None:
    given = {name: fact(name, value) for name, value in facts.items()}
    taken, refused = agreeing(given, list(given.values()), own)
    assert taken.keys() == kept
    assert bool(refused) is (kept != facts.keys())


def test_the_hidden_size_of_one_model_does_not_go_with_the_layers_of_another() -> None:
    far, near = fact("hidden", "13312", 1), fact("layers", "72", 9)
    reach = [far, fact("layers", "96", 1), near]
    taken, _ = agreeing({"hidden": far, "layers": near}, reach, {})
    assert taken.keys() == {"layers"}


@pytest.mark.parametrize("heading", ["Possible config", "Example scripts", "Existing models"])
def test_a_plan_or_an_example_lends_nothing(heading: str) -> None:
    [facts] = reached(f"# A\n\n## {heading}\n\nNLAYERS=96\nSEQ_LEN=512\n\n## Results\n\n{TABLE}")
    assert not {"layers", "seq_len"} & facts.keys()


def test_a_supposed_setting_lends_nothing() -> None:
    [facts] = reached(f"# A\n\nSo a possible config is\n\nNLAYERS=96\n\n{TABLE}")
    assert "layers" not in facts


def test_a_caption_is_of_its_table() -> None:
    first, second = reached(
        f"# A\n\n**Table 1** SEQ_LEN=2048, GBS=16\n\n{TABLE}\n**Table 2** SEQ_LEN=4096\n\n{TABLE}"
    )
    assert first["gbs"] == "16"
    assert "gbs" not in second


def test_a_legend_below_speaks_of_the_tables_of_its_section() -> None:
    [facts] = reached(f"# A\n\n{TABLE}\n- `TP=4` in all of entries\n- Seq length is 1024\n")
    assert (facts["tp"], facts["seq_len"]) == ("4", "1024")


def test_a_refused_fact_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    rows = TABLE.replace("1.3B", "13B") + "| 8 | 13B | 1 | 9 |\n"
    path.write_text(f"# A\n\n## Setup\n\nNLAYERS=96\nNHIDDEN=12288\n\n## Results\n\n{rows}")
    with in_memory() as warehouse:
        ingest_into(warehouse, [path], tmp_path)
        query = "SELECT message FROM warnings WHERE code = 'context_disagrees'"
        [(message,)] = warehouse.rows(query)
        assert list(warehouse.rows("SELECT DISTINCT layers, hidden FROM runs")) == [(None, None)]
    assert "layers 96 of line 5" in message or "hidden 12288 of line 6" in message


RATES = """# GPT pretraining benchmark

- Tesla V100-SXM2-16GB x 8

## Results

| case | step time (ms) | samples/s | TFLOPs per GPU | Aggregate PFLOP/s |
|--|--|--|--|--|
| A | 406 | 4.92 | 49.43 | 0.05 |
| B | 418 | 38.28 | 48.03 | 0.38 |
| C | 519 | 123.4 | 38.71 | 1.24 |
"""


def test_devices_from_further_up_fit_the_rates_of_the_row(tmp_path: Path) -> None:
    """Benchmarks on 1 to 32 devices, beside a machine of 8 (Oneflow-Inc/DLPerf 087255cc)."""
    (tmp_path / "a.md").write_text(RATES)
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path], tmp_path)
        found = warehouse.rows("SELECT devices FROM configurations ORDER BY line")
    assert found == [(None,), (8,), (None,)]


def test_rates_in_other_units_are_the_same_rates(tmp_path: Path) -> None:
    head = "# Training on 8x H100 GPUs\n\n| Model | Total TFLOPS | TFLOPS/GPU |\n|--|--|--|\n"
    (tmp_path / "a.md").write_text(f"{head}| 7B | 3,182 | 398 |\n")
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path], tmp_path)
        assert warehouse.rows("SELECT devices FROM topology") == [(8,)]
