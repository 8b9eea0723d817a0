"""--set: what sources do not state is told, typed and marked, and never overwrites what they do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.project.facts_file import FIELDS
from bench.schema.annotatable import annotatable_fields, parse_value
from bench.schema.errors import BenchError
from bench.schema.generated import expand
from bench.schema.opening import in_memory
from bench.schema.sql import sql_files
from bench.terminal.source import parse_overrides
from tests.making import log
from tests.program import quick, selected, told


@pytest.fixture
def place(folder: Path) -> Path:
    """A folder with a log that states no device, and another that is like it."""
    (folder / "a.log").write_text(log(12))
    (folder / "b.log").write_text(log(12, 200.0))
    return folder


def test_what_is_told_belongs_to_the_sources_of_the_call(place: Path) -> None:
    assert quick(place, "ingest", "-q", "a.log", "--set", "device=A64FX,nodes=2").code == 0
    assert quick(place, "ingest", "-q", "b.log").code == 0
    query = "SELECT uri, device, nodes, annotated FROM configurations ORDER BY uri"
    first = {"uri": "a.log", "device": "A64FX", "nodes": 2, "annotated": ["device", "nodes"]}
    silent = {"uri": "b.log", "device": None, "nodes": None, "annotated": None}
    assert selected(place, query) == [first, silent]
    kinds = selected(
        place, "SELECT DISTINCT field, how FROM facts WHERE scope = 'user' ORDER BY ALL"
    )
    assert kinds == [{"field": "device", "how": "user"}, {"field": "nodes", "how": "user"}]


def test_a_second_call_replaces_what_it_names_and_one_without_keeps(place: Path) -> None:
    quick(place, "ingest", "-q", "a.log", "--set", "device=A64FX,nodes=2")
    quick(place, "ingest", "-q", "a.log", "--set", "nodes=4")
    quick(place, "ingest", "-q", "a.log")
    query = "SELECT device, nodes FROM configurations WHERE uri = 'a.log'"
    assert selected(place, query) == [{"device": "A64FX", "nodes": 4}]
    with (place / "a.log").open("a") as file:
        file.write(log(20).split("\n", 12)[-1])
    quick(place, "ingest", "-q", "a.log")
    assert selected(place, query) == [{"device": "A64FX", "nodes": 4}], "a log that has grown"
    (place / "a.log").rename(place / "c.log")
    quick(place, "ingest", "-q", "c.log")
    moved = selected(
        place,
        "SELECT DISTINCT c.device FROM configurations c JOIN sources s USING (source_id) "
        "WHERE list_contains(s.uris, 'c.log')",
    )
    assert moved == [{"device": "A64FX"}]
    quick(place, "ingest", "-q", "c.log", "--set", "nodes=")
    assert selected(place, "SELECT DISTINCT nodes FROM configurations") == [{"nodes": None}]


def test_what_a_log_states_is_never_overwritten_and_the_contradiction_is_told(place: Path) -> None:
    done = quick(place, "ingest", "a.log", "--set", "gbs=512,train_iters=500")
    assert "a.log:1: --set states gbs = 512, but the source states 8" in done.err.replace(
        "8.0", "8"
    )
    assert "train_iters" not in done.err
    query = "SELECT gbs, gbs_logged, tokens_per_step, annotated FROM configurations"
    [row] = selected(place, query)
    assert row["gbs"] == 8 and row["gbs_logged"] == 8 and row["annotated"] is None
    outcomes = selected(place, "SELECT field, outcome FROM user_facts ORDER BY field")
    assert outcomes == [{"field": "gbs", "outcome": "contradicts"},
                        {"field": "train_iters", "outcome": "agrees"}]  # fmt: skip
    shown = quick(place, "show", "a.log:1").out
    assert "not used: the source states 8" in shown and "the source states so too" in shown


def test_paths_are_told_without_a_warehouse(place: Path) -> None:
    done = quick(place, "runs", "a.log", "--set", "device=V100,seq_len=64", "--format", "json")
    [row] = json.loads(done.out)
    assert row["device"] == "V100" and row["annotated"] == ["device", "seq_len"]
    assert row["tokens_per_s_per_device"] is None
    [row] = json.loads(
        quick(place, "runs", "a.log", "--set", "seq_len=64,devices=4", "--format", "json").out
    )
    assert row["tokens_per_s_per_device"] == pytest.approx(8 * 64 / 0.1 / 4)
    assert not (place / "bench.duckdb").exists()
    told(quick(place, "runs", "--set", "device=V100"), 2, "--set needs a PATH",
         "bench ingest PATH --set device=V100")  # fmt: skip


def test_mfu_becomes_computable_and_every_page_marks_what_is_told(place: Path) -> None:
    words = "device=V100,dtype=fp16,nodes=1,devices=4,layers=12,hidden=768,heads=12,seq_len=64"
    for report in ("model", "days", "runs", "sweep"):
        page = quick(place, "report", report, "a.log", "--set", words).out
        assert "‡ = annotated by a user" in page, report
        assert "| device = V100" in page and "given with --set (" in page, report
    page = quick(place, "report", "a.log", "--set", words, "--flops", "model").out
    assert "| MFU |" in re.sub(r" +", " ", page) and "V100‡" in page and "12 / 768 / 12‡" in page
    plain = quick(place, "report", "a.log").out
    assert "‡" not in plain and "Annotation" not in plain
    days = quick(place, "days", "a.log", "--set", words).out
    assert "‡ = annotated by a user" in days


def test_explain_says_who_told_it(place: Path) -> None:
    (place / "facts.toml").write_text(
        '[[fact]]\nmatch = { file = "a.log" }\nfield = "seq_len"\nvalue = 2048\n'
        'reason = "the queue"\nauthor = "A. Author"\ndate = 2026-02-16\n'
    )
    done = quick(place, "explain", "a.log:1.tokens_per_s", "a.log", "--set", "seq_len=64")
    assert "seq_len = 2,048 tokens  <- facts.toml:1 'seq_len = 2048'" in done.out
    assert "stated by a user: the queue (A. Author, 2026-02-16); given with --set (" in done.out
    assert "states 64, not used: another annotation has precedence" in done.out
    assert "states seq_len = 64, but an annotation of higher precedence states 2048" in done.err
    quick(place, "ingest", "-q", "b.log", "--set", "nodes=3")
    assert "nodes = 3  [stated by a user: given with --set (" in (
        quick(place, "explain", "b.log:1.nodes").out
    )


def test_a_record_carries_what_was_told_as_told(place: Path) -> None:
    quick(place, "ingest", "-q", "a.log", "--set", "device=A64FX")
    quick(place, "export", "--records", "records")
    other = place / "other"
    other.mkdir()
    quick(other, "ingest", "-q", "../records", "--db", "there.duckdb")
    query = (
        "SELECT c.device, c.annotated, u.origin"
        " FROM configurations c JOIN user_facts u USING (run_id)"
    )
    done = quick(other, "sql", query, "--db", "there.duckdb", "--format", "json")
    assert json.loads(done.out) == [
        {"device": "A64FX", "annotated": ["device"], "origin": "record"}
    ]
    quick(other, "ingest", "-q", "../records", "--db", "there.duckdb", "--set", "device=V100")
    done = quick(other, "sql", query, "--db", "there.duckdb", "--format", "json")
    assert json.loads(done.out) == [{"device": "V100", "annotated": ["device"], "origin": "set"}]


def test_facts_match_bytes_and_labels(place: Path) -> None:
    quick(place, "ingest", "-q", "a.log", "b.log")
    [row] = selected(place, "SELECT sha256 FROM sources WHERE uri = 'b.log'")
    signed = 'reason = "r"\nauthor = "a"\ndate = 2026-02-16\n'
    (place / "facts.toml").write_text(
        f'[[fact]]\nmatch = {{ sha256 = "{row["sha256"][:12]}" }}\nfield = "zero_stage"\n'
        f'value = 0\n{signed}[[fact]]\nmatch = {{ file = "*" }}\nfield = "swiglu"\nvalue = true\n'
        f'{signed}[[fact]]\nmatch = {{ label = "7B" }}\nfield = "device"\nvalue = "A100"\n{signed}'
    )
    quick(place, "ingest", "-q", "a.log", "b.log")
    query = "SELECT uri, zero_stage, swiglu, device FROM configurations ORDER BY uri"
    assert selected(place, query) == [
        {"uri": "a.log", "zero_stage": None, "swiglu": True, "device": None},
        {"uri": "b.log", "zero_stage": 0, "swiglu": True, "device": None},
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("devcie=A100", ("unknown field 'devcie'", "did you mean 'device'")),
        ("gpus=4", ("did you mean 'devices'",)),
        ("status=ok", ("unknown field 'status'",)),
        ("nodes=6.5", ("nodes is a whole number",)),
        ("nodes=0", ("nodes is a whole number",)),
        ("seq_len=4k", ("sequence length in tokens",)),
        ("zero_stage=4", ("ZeRO stage, 0 to 3",)),
        ("dtype=int3", ("fp32|tf32|fp16|bf16|fp8|fp4",)),
        ("swiglu=maybe", ("yes or no",)),
        ("device", ("expects NAME=VALUE", "--set device=A64FX")),
        ("tp=2,tp=4", ("two values for tp: 2 and 4",)),
        ("device=A\x1b[2J", ("device cannot be",)),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_read(
    place: Path, text: str, words: tuple[str, ...]
) -> None:
    told(quick(place, "ingest", "a.log", "--set", text), 2, *words)
    assert not (place / "bench.duckdb").exists()


def test_values_are_typed() -> None:
    assert parse_overrides(["gbs=1,024,tp=4", "device=A64FX 2.2GHz"]) == {
        "gbs": "1024", "tp": "4", "device": "A64FX 2.2GHz",
    }  # fmt: skip
    assert parse_value("params_b", "124M") == "0.124" and parse_value("params_b", "1.3") == "1.3"
    assert parse_value("dtype", "torch.bfloat16") == "bf16"
    assert parse_value("recompute", "Off") == "none" and parse_value("swiglu", "yes") == "true"


@pytest.mark.parametrize(("field", "stated", "other", "same"), [
    ("params_b", "1.30", "1.3", True), ("device", "NVIDIA A100-SXM4-80GB", "a100", True),
    ("nodes", "8", "64", False), ("nodes", "8", "many", False),
])  # fmt: skip
def test_a_source_and_a_user_say_the_same(field: str, stated: str, other: str, same: bool) -> None:
    with in_memory() as warehouse:
        query = "SELECT says_the_same(?, ?, ?)"
        assert warehouse.rows(query, [field, stated, other]) == [(same,)]


@given(st.text(max_size=40), st.sampled_from(sorted(annotatable_fields())))
def test_any_text_is_a_value_or_an_error(text: str, field: str) -> None:
    try:
        value = parse_value(field, text)
    except BenchError as error:
        assert error.hint
    else:
        assert parse_value(field, value) == value and value.isprintable()


def test_every_column_that_can_be_told_counts_where_the_source_is_silent() -> None:
    view = expand(dict(sql_files("views"))["03_configurations"])
    assert set(re.findall(r"u\.annotated\['(\w+)'\]", view)) == set(annotatable_fields())
    assert set(FIELDS) == {"finding", "boundary", *annotatable_fields()}


def test_what_a_log_does_not_state_is_said(place: Path) -> None:
    shown = quick(place, "show", "a.log:1", "a.log", "--set", "device=V100", "--format", "json").out
    missing = {row["name"] for row in json.loads(shown) if row["part"] == "not stated"}
    assert "torch_version" in missing and "container_image" in missing and "nodes" in missing
    assert "device" not in missing, "it is told"
