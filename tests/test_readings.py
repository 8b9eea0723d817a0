"""What cells, marks, headings and lines of tables mean, and what they do not; nothing breaks."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.ingest.documents.tables import read_markdown
from bench.ingest.files.pipeline import ingest_into
from bench.schema.arrow import to_arrow
from bench.schema.opening import in_memory
from tests.documents import check, read


def test_a_status_column_says_how_a_row_ended(tmp_path: Path) -> None:
    text = """\
| Nodes | TP | Sec/it | Status |
|--|--|--|--|
| 1 | 8 | 2.0 | OOM |
| 1 | 4 | 3.0 | ok |
| 1 | 2 |  | DNF |
| 1 | 1 | crashed | |
| 2 | 1 | 4.0 | cancelled |
"""
    runs, _ = read(text, tmp_path)
    assert [run["status"] for run in runs] == ["oom", "ok", "fail", "fail", "cancelled"]


def test_a_length_stated_below_does_not_reach_up(tmp_path: Path) -> None:
    table = "| GPUs | TP | GBS | Sec/it |\n|--|--|--|--|\n| 8 | 1 | 64 | 2.0 |\n"
    first, second = read(f"# 7B\n\n{table}\n## Sequence length 32768\n\n{table}", tmp_path)[0]
    check(first, seq_len=None)
    check(second, seq_len=32768)
    one, other = read(
        f"# 7B\n\nSequence length 4K\n\n{table}\n## Sequence length 8192\n\n{table}", tmp_path
    )[0]
    check(one, seq_len=4096)
    check(other, seq_len=8192)


def test_headings_in_snake_case(tmp_path: Path) -> None:
    text = """model,gpus,tp,gbs,seq_len,iteration_time_ms,tokens_per_sec_per_gpu,peak_memory_gb
7B,8,1,64,2048,2500,6554,60.5
"""
    (tmp_path / "a.csv").write_text(text)
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "a.csv"], tmp_path)
        rows = warehouse.rows("SELECT metric, value FROM measurements")
    assert dict(rows) == {"step_time_s": 2.5, "tokens_per_s_per_device": 6554, "memory": 60.5}


def test_steps_a_second_are_a_step_time(tmp_path: Path) -> None:
    text = """\
| GPUs | TP | Speed (it/s) | Time |
|--|--|--|--|
| 8 | 1 | 0.5 | 12h |
"""
    ((run,), _) = read(text, tmp_path)
    check(run, step_time_s=2.0)
    text = text.replace("Speed (it/s)", "Throughput").replace("0.5", "4 it/s")
    ((bare,), _) = read(text, tmp_path)
    check(bare, step_time_s=0.25)


@pytest.mark.parametrize(
    ("heads", "time", "value"),
    [
        ("Batch size | Context | Time (s)", "437", None),  # of how many steps is not said
        ("Batch size | Context | Time (ms)", "437", 0.437),
        ("Batch size | Context | Time", "4.5 s/step", 4.5),
        ("Batch size | TP | Time (s)", "4.5", 4.5),  # of a sweep
    ],
)
def test_a_bare_time_is_of_a_step_where_the_table_shows_it(
    heads: str, time: str, value: float | None, tmp_path: Path
) -> None:
    text = (
        f"# 7B\n\n| GPUs | {heads} | Memory (GB) |\n|--|--|--|--|--|\n| 2 | 8 | 2 | {time} | 22 |\n"
    )
    ((run,), summary) = read(text, tmp_path)
    check(run, step_time_s=value)
    assert bool(summary.warnings) == (value is None)


def test_a_share_is_one_of_its_column(tmp_path: Path) -> None:
    text = "| GPUs | TP | MFU |\n|--|--|--|\n| 8 | 1 | 41.3 |\n| 16 | 1 | 0.9 |\n"
    high, low = read(text, tmp_path)[0]
    check(high, mfu=0.413)
    check(low, mfu=0.009)


def test_footnotes_of_markdown_are_marks(tmp_path: Path) -> None:
    text = """\
| GPUs | TP | Sec/it |
|--|--|--|
| 8 | 1 | 1.0[^1] |
| 16 | 1 | 0.6[^slow] |

[^1]: estimated from the first ten steps
[^slow]: median of 3 runs
"""
    (first, second), summary = read(text, tmp_path)
    check(first, step_time_s=1.0, flags=["estimated"])
    check(second, step_time_s=0.6, flags=[])
    assert not summary.warnings


def test_a_list_item_explains_no_mark(tmp_path: Path) -> None:
    text = """\
| GPUs | TP | Sec/it |
|--|--|--|
| 8 | 1 | 1.0* |

* = estimated

* Jobs on partition C fail at night.
"""
    ((run,), _) = read(text, tmp_path)
    check(run, status="ok", flags=["estimated"])


def test_numbers_in_notes_that_are_no_dates_or_jobs(tmp_path: Path) -> None:
    text = """\
| GPUs | TP | Sec/it | Notes |
|--|--|--|--|
| 8 | 1 | 1.0 | vocab 250880, used 12/16 GPUs |
| 8 | 1 | 1.0 | 02-15, 21103755 |
| 8 | 1 | 1.0 | job 1234567 of 13/45 |
"""
    runs, _ = read(text, tmp_path)
    assert [(run["date"], run["job_ids"]) for run in runs] == [
        (None, []), ("02-15", ["21103755"]), (None, ["1234567"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "ghz"), [("freq=2.2", "2.2"), ("freq=2.2GHz", "2.2"), ("freq=2000", "2")]
)
def test_clocks_in_settings(tmp_path: Path, cell: str, ghz: str) -> None:
    text = f"| Nodes | TP | Sec/it |\n|--|--|--|\n| 512 ({cell}) | 1 | 2.0 |\n"
    ((run,), _) = read(text, tmp_path)
    check(run, settings={"clock_ghz": ghz})


def test_a_result_that_no_column_is_for_is_told(tmp_path: Path) -> None:
    text = """\
| GPUs | TP | MBS | Sec/it (first) | Sec/it (cold) |
|--|--|--|--|--|
| 64 | 8 | 4 | 12.5 | 11.5 |
"""
    ((run,), summary) = read(text, tmp_path)
    check(run, kind="measured", status="not_run", step_time_s=None)
    assert [warning.code for warning in summary.warnings] == ["unread_column"] * 2


@pytest.mark.parametrize(
    ("before", "heading", "cell"),
    [
        ("", "GPUs per node", "8"),
        ("Each node has 8 A100 GPUs.\n\n", "MBS", "1"),
    ],
)
def test_devices_of_a_node(tmp_path: Path, before: str, heading: str, cell: str) -> None:
    head = f"| Nodes | {heading} | TP | GBS | Sec/it |\n|--|--|--|--|--|\n"
    text = f"{before}{head}| 8 | {cell} | 8 | 512 | 10.0 |\n"
    ((run,), _) = read(text, tmp_path)
    check(run, devices_per_node=8, devices=64, world_size=64)


def test_settings_in_a_heading(tmp_path: Path) -> None:
    table = "| GPUs | TP | Sec/it |\n|--|--|--|\n| 8 | 8 | 10.0 |\n"
    heading = "# GPT 13B, GBS=512, NLAYERS=40, NHIDDEN=5120, VOCAB=250k, Sequence Length=2048"
    ((run,), _) = read(f"{heading}\n\n{table}", tmp_path)
    check(run, params_b=13.0, gbs=512, layers=40, hidden=5120, seq_len=2048)


def test_words_say_more_than_a_formula(tmp_path: Path) -> None:
    table = "| GPUs | TP | Sec/it |\n|--|--|--|\n| 8 | 8 | 10.0 |\n"
    formula = "`perl -le '$gbs=512; $seqlen=2048; print $ms*4*2*$seqlen*$gbs / $sp'`"
    heading = "# 13B without activation checkpointing"
    ((run,), _) = read(f"{heading}\n\n{table}\n{formula}\n", tmp_path)
    check(run, recompute="none", gbs=512)


def test_replicas_above_a_table_that_counts_nothing(tmp_path: Path) -> None:
    table = "| MBS | TP | Sec/it |\n|--|--|--|\n| 8 | 8 | 10.0 |\n"
    text = f"# 13B\n\n- 20 nodes, 2 replicas\n\n{table}"
    ((run,), _) = read(text, tmp_path)
    check(run, nodes=20, dp=2)


@pytest.mark.parametrize("cell", ["~10", "11.5 (est.)"])
def test_cells_that_estimate(tmp_path: Path, cell: str) -> None:
    ((run,), _) = read(f"| GPUs | TP | Sec/it |\n|--|--|--|\n| 8 | 8 | {cell} |\n", tmp_path)
    check(run, flags=["estimated"])


HOSTILE = {
    "superscript": "NHIDDEN=²\n\n",
    "long number": f"Sequence length {'9' * 5000}\n\n",
    "infinite plan": f"{'9' * 320} steps\n\n",
    "many totals": "",
    "digits": "9" * 20_000 + "\n\n",
    "blanks": ("a" + " " * 398 + "=\n") * 50 + "\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_read(tmp_path: Path, name: str) -> None:
    """Each of these raised, or took minutes; the table below is read all the same."""
    heading = "Total " * 1000 + "TFLOPs" if name == "many totals" else "TFLOPs"
    head = f"| GPUs | TP | Model | Params | Sec/it | {heading} |\n|--|--|--|--|--|--|\n"
    row = f"| 8 | 1 | 7B | {'9' * 320} | 1.5 | 100 |\n"
    ((run,), _) = read(f"{HOSTILE[name]}{head}{row}", tmp_path)
    check(run, step_time_s=1.5, params_stated=None)


SCRAPS = [
    "# 7B, Sequence Length=1024", "## w/o activation checkpointing", "- 20 nodes, 2 replicas",
    "NHIDDEN=14336 / NLAYERS=72", "* = estimated", "[^1]: stuck", "300B tokens to train on",
    "$ms*4*2*$seqlen*$gbs / $sp; $gbs=512; $seqlen=2048;", "0.5 Sec/it ==> 2.09 days", "```", ">",
    "| Nodes | TP | GBS | Sec/it | TFLOPs* | Notes |", "|--|--|--|--|--|--|", "|--|",
    "| 8 | 1 | 64 | 2.0^ | 1e400 | 02-15, 21103755 |", "| ² | 9999999999999999999999 | - | OOM |",
    "| 512 (freq=2e9, A=b) | GPUs*4 | 1-2 | 3 (4) | ± | 67GB |", "| a | b |", "|", "||||||||",
]  # fmt: skip
SIGNS = "0123456789.|-^*() kM%"
SCRAP = st.sampled_from(SCRAPS) | st.text(max_size=30) | st.text(SIGNS, max_size=60)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(SCRAP, SCRAP).map("".join), max_size=25).map("\n".join))
def test_any_document_can_be_stored(text: str) -> None:
    rows, coverage = read_markdown(text, "source")
    tables = to_arrow(rows)
    assert coverage.lines == text.count("\n") + (not text.endswith("\n"))
    read_in = sum(map(len, rows.by_table.values()))
    read_in += sum(one.num_rows for many in rows.tables.values() for one in many)
    assert sum(table.num_rows for table in tables.values()) == read_in


def test_a_heading_that_is_printed_twice_is_stored() -> None:
    head = "| Nodes | TP | GBS | Sec/it | TFLOPs* | Notes |# 7B, Sequence Length=1024"
    rows, _ = read_markdown(f"{head}\n|--|--|--|--|--|--|\n{head}", "source")
    assert to_arrow(rows)["cells"].num_rows == 7


def test_a_batch_of_each_of_two_models_is_that_of_none(tmp_path: Path) -> None:
    text = """\
We used a global batch size of 2304 for XXL and 2016-2048 for all other models.

| size | #GPUs | TP | BS / GPU | Seq/Sec/GPU |
|--|--|--|--|--|
| T5-large | 64 | 1 | 32 | 75.8 |
"""
    ((run,), _) = read(text, tmp_path)
    check(run, gbs=None, mbs=32, samples_per_s_per_device=75.8)
