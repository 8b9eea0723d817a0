"""Every log format is proved by its own samples, and gets them."""

import textwrap
from datetime import datetime
from pathlib import Path

import pytest

from bench.ingest.cast import CASTS
from bench.ingest.documents.quoted_lines import read_quoted
from bench.ingest.logs.dialect import (
    Dialect,
    Sample,
    claimant,
    dialects,
    in_order,
    load,
    load_folder,
)
from bench.ingest.logs.header import RUN_COLUMNS, TOPOLOGY_COLUMNS, declared_arguments
from bench.ingest.logs.record import NO_COLUMNS
from bench.ingest.logs.segments import Segments
from bench.schema.arrow import shapes
from bench.schema.errors import BenchError

# What a number grammar gives, as SQL knows it.
SQL = {
    "human": "double",
    "first": "double",
    "instant": "double",
    "inverse": "double",
    "inverse_rounded": "double",
    "minutes": "double",
    "hours": "double",
    "teraflops": "double",
    "percent": "double",
}
SQL |= {"clock": "double", "count": "bigint", "epoch_ms": "timestamp"}
SAMPLES = [(dialect, sample) for dialect in dialects() for sample in dialect.samples]
IDS = [f"{dialect.name}-{dialect.samples.index(sample) + 1}" for dialect, sample in SAMPLES]

GOOD = """
title = "t"
url = "https://example.org"
reads = "iteration"
hint = "step"
anchor = '''step (?P<iteration>\\d+) \\|'''
requires = [["time"]]
groups = { iteration = { type = "bigint" } }
keys = { time = { column = "step_time_s", type = "double", shift = -3, unit = "ms" } }
[[sample]]
line = "step 1 | time: 612.4 |"
source = "template"
row = { iteration = 1, step_time_s = 0.6124 }
"""


@pytest.mark.parametrize(("dialect", "sample"), SAMPLES, ids=IDS)
def test_a_sample_gives_its_whole_row(dialect: Dialect, sample: Sample) -> None:
    record = dialect.read(sample.line)
    assert record is not None and record.fields == sample.row
    assert sample.source


@pytest.mark.parametrize(("dialect", "sample"), SAMPLES, ids=IDS)
def test_a_sample_goes_to_its_own_format(dialect: Dialect, sample: Sample) -> None:
    assert claimant(dialects(), dialect, sample) == dialect.name


def test_the_formats_of_the_package_prove_themselves(root: Path) -> None:
    """A start takes them as they are; a user's own are proved whenever they are loaded."""
    proved = load_folder(root / "ingest" / "dialects")
    assert [dialect.name for dialect in proved] == [dialect.name for dialect in dialects()]


def test_the_folder_is_the_registry(root: Path) -> None:
    files = {file.stem for file in (root / "ingest" / "dialects").glob("*.toml")}
    assert {dialect.name for dialect in dialects()} == files


def test_the_special_format_comes_before_the_general_one() -> None:
    names = [dialect.name for dialect in dialects()]
    assert names.index("megatron_deepspeed") < names.index("megatron_lm")
    assert names.index("failure_time_limit") < names.index("failure_cancelled")


def test_iterations_have_columns_of_the_table(root: Path) -> None:
    folder = root / "schema" / "tables"
    added = (folder / "018_utilization.sql").read_text()
    ddl = (folder / "004_series.sql").read_text().split("raw.timers")[0] + added
    for dialect in dialects():
        if dialect.reads in ("iteration", "part"):
            groups = getattr(dialect.reader, "groups", {})
            for field in [*groups.values(), *getattr(dialect.reader, "keys", {}).values()]:
                column = field.column
                if column is None or column in NO_COLUMNS or column.startswith("more."):
                    continue
                if field.memory is None:
                    assert f" {column} {SQL.get(field.type, field.type).upper()}" in ddl, field


def test_arguments_have_columns_of_the_tables() -> None:
    assert {argument.column for argument in declared_arguments()} <= RUN_COLUMNS | TOPOLOGY_COLUMNS
    assert set(shapes()["runs"].schema.names) >= RUN_COLUMNS
    assert set(shapes()["topology"].schema.names) >= TOPOLOGY_COLUMNS


def write(folder: Path, text: str, name: str = "new.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_new_file_is_a_new_format(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    (dialect,) = load_folder(tmp_path)
    record = dialect.read("step 7 | time: 89.1 | other: word | 9")
    assert record is not None
    assert record.fields == {"iteration": 7, "step_time_s": 0.0891, "more": {"other": "word"}}
    assert record.after == " 9"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "t"', 'tilte = "t"', "unknown key `tilte`"),
        ('reads = "iteration"', 'reads = "iterations"', "`reads` is 'iterations'"),
        ('url = "https://example.org"', "", "`url` is missing"),
        ("(?P<iteration>", "(?P<iteration", "no regular expression"),
        ('hint = "step"', 'hint = "stop"', "sample 1 is not read"),
        ("step_time_s = 0.6124", "step_time_s = 0.6125", "sample 1 gives another row"),
        ("iteration = 1, ", "", "sample 1 gives another row"),
        ('type = "bigint"', 'type = "int"', "unknown type `int`"),
        ("shift = -3", 'shift = "ms"', "`shift` is a whole number"),
        ('source = "template"\n', "", "sample 1 lacks one of"),
        ("[[sample]]", "[[sample", "no TOML"),
        ('requires = [["time"]]', 'pattern = "x"', "either `pattern` or `anchor`"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(BenchError) as error:
        load(write(tmp_path, GOOD.replace(old, new)))
    assert "new.toml" in str(error.value)
    assert message in str(error.value)


def test_a_tie_is_an_error(tmp_path: Path) -> None:
    one, two = (load(write(tmp_path, GOOD, name)) for name in ("one.toml", "two.toml"))
    with pytest.raises(BenchError, match="one and two read each other's samples"):
        in_order([one, two])


def test_keys_are_checked_once_for_many_lines(tmp_path: Path) -> None:
    reader = load(write(tmp_path, GOOD)).reader
    assert isinstance(reader, Segments)
    layout = reader.layout(("time", "other"))
    assert layout is reader.layout(("time", "other")) and layout is not None
    assert [(index, column) for index, column, _ in layout.columns] == [(0, "step_time_s")]
    assert layout.kept == (1,)
    assert reader.layout(("other",)) is None


@pytest.mark.parametrize(
    ("printed", "value", "kept"),
    [
        ("1,234.5", 1.2345, None),
        ("1e3", 1.0, None),
        ("nan", None, "nan"),
        ("inf", None, "inf"),
        ("1460.8/1450.4", None, "1460.8/1450.4"),
        ("1_0", None, "1_0"),
        ("1e999", None, "1e999"),
        ("", None, ""),
    ],
)
def test_no_value_is_lost_and_none_raises(
    tmp_path: Path, printed: str, value: float | None, kept: str | None
) -> None:
    record = load(write(tmp_path, GOOD)).read(f"step 7 | time: {printed} |")
    assert record is not None
    assert record.fields.get("step_time_s") == value
    more = record.fields.get("more", {})
    assert isinstance(more, dict) and more.get("time") == kept
    damaged = kept is not None and kept not in ("nan", "inf", "")
    assert record.invalid == (("time",) if damaged else ())


def test_the_bloom_document_is_read_line_by_line(data: Path) -> None:
    text = (data / "tables" / "002_chronicles-prequel.md").read_text()
    records = [record for line in text.splitlines() if (record := read_quoted(line))]
    assert [(r.dialect, r.fields["step_time_s"], r.fields["tflops"]) for r in records] == [
        ("megatron_deepspeed", 769.99, 108.47),
        ("megatron_deepspeed", 844.81, 98.87),
        ("megatron_deepspeed", 430.21, 97.07),
        ("megatron_deepspeed", 777.09, 107.48),
        ("megatron_deepspeed", 853.81, 97.82),
        ("megatron_deepspeed", 434.14, 96.19),
    ]
    assert all(r.fields["gbs"] == 2048 and r.fields["samples_per_s"] for r in records)


@pytest.mark.parametrize("front", ["", "    ", "> ", "- ", "`", "[default7]:", "7: "])
def test_a_quoted_line_may_be_indented(front: str) -> None:
    line = "iteration 1/ 5 | consumed samples: 8 | elapsed time per iteration (ms): 143.1 |"
    record = read_quoted(front + line + ("`" if front == "`" else ""))
    assert record is not None and record.dialect == "megatron_lm"
    assert record.fields["step_time_s"] == 0.1431


def test_prose_is_no_log_line() -> None:
    assert (
        read_quoted("We take the elapsed time per iteration at iteration 2 | of each run") is None
    )


def test_the_guide_shows_a_format_that_works(root: Path, tmp_path: Path) -> None:
    text = (root / "docs" / "formats.md").read_text()
    example = text.split("```toml\n")[1].split("```")[0]
    dialect = load(write(tmp_path, textwrap.dedent(example), "mine.toml"))
    assert dialect.samples[0].row["step_time_s"] == 0.5124


def test_a_format_may_be_like_another(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "base.toml")
    like = (
        'title = "t"\nurl = "u"\nreads = "iteration"\nlike = "base"\nrequires = [["rate"]]\n'
        '[keys]\nrate = { column = "samples_per_s", type = "human" }\n'
        '[[sample]]\nline = "step 1 | time: 1.0 | rate: 2.5K |"\nsource = "template"\n'
        "row = { iteration = 1, step_time_s = 0.001, samples_per_s = 2500.0 }\n"
    )
    write(tmp_path, like, "more.toml")
    assert [dialect.name for dialect in load_folder(tmp_path)] == ["more", "base"]
    with pytest.raises(BenchError, match="names no other format"):
        load(write(tmp_path, like.replace('"base"', '"none"'), "none.toml"), tmp_path)


@pytest.mark.parametrize(
    ("cast", "text", "value"),
    [
        ("human", "11.5K", 11500.0),
        ("human", "x", None),
        ("count", "85.8G", 85_800_000_000),
        ("first", "567.6 (avg 568.0)", 567.6),
        ("instant", "1460.8/1450.4", 1460.8),
        ("instant", "1460.8/x", None),
        ("inverse", "2.00", 0.5),
        ("inverse", "0", None),
        ("minutes", "1.5", 90.0),
        ("hours", "0.5", 1800.0),
        ("hours", "x", None),
        ("percent", "13.99%", 0.1399),
        ("percent", "N/A", None),
        ("teraflops", "112.9TFLOPS", 112.9),
        ("teraflops", "987.0GFLOPS", 0.987),
        ("clock", "0:14:31.66", 871.66),
        ("clock", "1:2:3:4", None),
        ("epoch_ms", "0", datetime(1970, 1, 1)),
        ("epoch_ms", "-1", None),
    ],
)
def test_number_grammars(cast: str, text: str, value: object) -> None:
    assert CASTS[cast](text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9223372036854775807", 2**63 - 1), ("9223372036854775808", None),
        ("-9223372036854775808", -(2**63)), ("9,007,199,254,740,993", 2**53 + 1),
        ("9007199254740993.0", 2**53 + 1), ("9007199254740993.5", None), ("1e18", 10**18),
        ("1e400", None), ("9" * 5000, None), ("1_0", None), ("-0.0", 0), ("12.5", None),
    ],
)  # fmt: skip
def test_whole_numbers_are_exact(text: str, value: int | None) -> None:
    assert CASTS["bigint"](text) == value
