"""Tables that sum up one training: what the trainer prints at the end, with its units."""

import pytest

from bench.ingest.documents.tables import read_markdown
from tests.documents import runs

TITLE = "# LoRA fine-tuning of a 7B model\n\n| Metric | Value |\n|--|--|\n"


def test_a_summary_with_its_epochs_is_a_run() -> None:
    [run] = runs(
        f"{TITLE}| epoch | 3.0 |\n| train_loss | 1.2 |\n| eval_runtime | 23.7 |\n"
        "| train_runtime | 203.4396 |\n| train_samples_per_second | 217.2 |\n"
    )
    assert (run["train_time_s"], run["samples_per_s"]) == (203.4396, 217.2)


def test_rows_of_epochs_are_moments_of_one_run() -> None:
    rows = "".join(f"| {n} | {2 / n:.3f} | {4000 + n} |\n" for n in (1, 2, 3))
    assert runs(f"# Training\n\n| Epoch | Loss | Tokens/s |\n|--|--|--|\n{rows}") == []


@pytest.mark.parametrize(
    ("heading", "cell", "seconds"),
    [
        ("Training time", "2.87 hrs", 2.87 * 3600),
        ("Training time", "90 分钟", 5400),
        ("Training time", "42", None),  # of what?
        ("Training time (h)", "2", 7200),
        ("Time to train", "42", 42 * 60),  # as MLPerf counts it
        ("train_runtime", "203.5", 203.5),
        ("train_runtime", "571.2752 秒", 571.2752),
    ],
)
def test_the_unit_of_a_training_time(heading: str, cell: str, seconds: float | None) -> None:
    [run] = runs(
        f"# Training\n\n| GPUs | Tokens/s | {heading} |\n|--|--|--|\n| 8 | 20000 | {cell} |\n"
    )
    assert run.get("train_time_s") == (seconds and pytest.approx(seconds))


def test_devices_are_counted_with_their_name() -> None:
    [run] = runs(
        "# Training\n\n| GPUs | train_samples_per_second |\n|--|--|\n| BI-V150 x8 | 10.674 |\n"
    )
    assert (run["device"], run["devices"]) == ("BI-V150", 8)


def test_a_framework_is_named_with_its_stage() -> None:
    rows, _ = read_markdown(
        "# Training\n\n| Framework | GPUs | Tokens/s |\n|--|--|--|\n| FSDP | 8 | 3158 |\n"
        "| DeepSpeed ZeRO-3 | 8 | 3094 |\n",
        "s",
    )
    assert [one["zero_stage"] for one in rows.by_table["topology"]] == [None, 3]
