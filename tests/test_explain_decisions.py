"""Every number that `bench best`, `days`, `compare` and `report scaling` print is explained."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from bench.decide.query import Query, TableRef
from bench.explain.answer_columns import COMMANDS
from bench.explain.context import ExplainContext, explain_context
from bench.explain.decisions import DecisionContext, decisions, on_answer
from bench.explain.number import parse_number
from bench.explain.tree import Node
from bench.ingest.files.pipeline import ingest_into
from bench.reports.computed import presented
from bench.schema.opening import in_memory
from bench.terminal.answers import as_text
from bench.terminal.tables import Format
from tests.deciding import JOB, table
from tests.explaining import matches
from tests.program import quick, told

# Names of places, days, versions, settings and models: no number is meant by them.
_PLACE = r"\b00\d\b(?::\d+| \()(?: \+\d+)?(?:(?:, | and )\d+ more)?"
_NAMES = re.compile(
    rf"{_PLACE}|\b02-\d\d\b|\([A-Z]\d+[a-z]?\)|\b\d+(?:/\d+)+(?:/-)?|[A-Z0]+[\w-]*[A-Z]\w*|\w+_\w+"
    r"|\b[DTPMC]+[PB]S? ?\d+|\bGBS \d+|F\d\b|\b\d+(?:\.\d+)?B\b|\b\d+M\b|[\d.]+ GHz|p = |95%"
    r"|lines? \d+"
)
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?:[KMBT]\b|%)?")
QUERIES = {
    "all": Query(),
    "allocator": Query(document="003_check_tcmalloc.md", by="LD_PRELOAD"),
    "authors": Query(
        table=TableRef("002_chronicles-prequel.md", 4), where="dp % 4 = 0 and gbs % 32 = 0"
    ),
    "batch": Query(model="181B", goodput=0.9, by="mbs"),
    "ramp": Query(
        document="004_tr3m-1B3.md", tokens=300_000_000_000, ramp_up="32,32,1000000", by="recompute"
    ),
    "steps": Query(model="181B", steps=100_000),
    "steps of a ramp-up": Query(
        document="004_tr3m-1B3.md", steps=100_000, ramp_up="32,32,1000000", by="recompute"
    ),
    "extrapolated": Query(document="003_check_tcmalloc.md", nodes=128, extrapolate=True),
}


@pytest.fixture(scope="module")
def here(root: Path) -> Iterator[ExplainContext]:
    with in_memory() as warehouse:
        ingest_into(warehouse, [root / "data" / "tables"], root)
        yield explain_context(warehouse, root)


def asked_of(here: ExplainContext, name: str) -> tuple[ExplainContext, Query]:
    """The context anew, since it keeps the answers to one query."""
    query = QUERIES[name]
    return explain_context(here.warehouse, here.lines.root, query), query


def shown(context: DecisionContext, query: Query) -> str:
    """What a person reads of an answer, without the names of places and settings."""
    text = as_text(presented(context.decision, context.context.names, query.most), Format.MD)
    return _NAMES.sub(
        " ", re.sub(r"\([^()]*(?:\b00\d:|lines? )\d+[^()]*\)", " ", text.split("Excluded:")[0])
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
def test_every_number_is_explained(here: ExplainContext, name: str) -> None:
    there, query = asked_of(here, name)
    missing: dict[str, set[str]] = {}
    seen = 0
    for answer in decisions(there, query):
        for text in {found.rstrip(",") for found in _NUMBER.findall(shown(answer, query))}:
            number = parse_number(text)
            assert number is not None, text
            seen += 1
            answers = (on_answer(there, query, number, command) for command in COMMANDS)
            found = next(chain.from_iterable(answers), None)
            if (found or next(matches(there, number, query.model), None)) is None:
                missing.setdefault(answer.command, set()).add(text)
    assert not missing and seen > 20


NUMERIC = {
    "bench best": ("days", "device_hours", "tokens_per_s_normalised", "rank_normalised"),
    "bench days": ("days", "goodput", "device_hours", "ramp_up_steps", "ramp_up_days"),
    "bench report scaling": ("efficiency", "efficiency_fit", "alpha", "beta", "rms_error"),
    "bench compare": ("speedup", "change_percent", "p_value", "q_value", "cv_percent"),
}


@pytest.mark.parametrize("name", ["allocator", "authors", "ramp"])
def test_the_trees_of_rows_give_their_values(here: ExplainContext, name: str) -> None:
    there, query = asked_of(here, name)
    checked = 0
    for answer in decisions(there, query):
        for row in answer.decision.rows[:12]:
            for column in NUMERIC[answer.command]:
                node = answer.derive(row, column)
                assert (node is None) == (row.get(column) is None), column
                if node is None:
                    continue
                assert node.value == pytest.approx(row[column])
                assert [n for n in node.walk() if not n.inputs and not rests(n)] == []
                if (made := evaluated(node)) is not None:
                    assert made == pytest.approx(node.value, rel=1e-6), node
                    checked += 1
    assert checked > 15


def rests(leaf: Node) -> bool:
    """Whether a leaf has a line, or says what it is."""
    return leaf.place is not None or bool(leaf.note) or leaf.how is not None


def evaluated(node: Node) -> float | None:
    """The arithmetic of a node over its inputs, where that is plain."""
    if node.how is None or not re.fullmatch(r"[\w .()/*x+-]+", node.how.expression):
        return None
    values: Mapping[str, Any] = {one.name: one.value for one in node.inputs}
    text = re.sub(r"\bx\b", "*", node.how.expression)
    if not {*re.findall(r"[a-z_]\w*", text)} <= values.keys():
        return None
    return float(eval(text, {"__builtins__": {}}, dict(values)))


def test_a_column_of_an_answer_by_its_run(data: Path, folder: Path) -> None:
    tables = str(data / "tables")
    asked = ("explain", "002:131.tokens_per_s_normalised", tables)
    done = quick(folder, *asked, "--table", "002_chronicles-prequel.md:4",
                 "--where", "dp % 4 = 0 and gbs % 32 = 0")  # fmt: skip
    assert done.code == 0 and "24,741" in done.out, done.text
    assert "tokens_per_s x flops_per_token / flops_per_token_of_the_first" in done.out
    done = quick(folder, "explain", "003:20.speedup", tables, "--by", "LD_PRELOAD")
    assert "pace_of_the_base / pace" in done.out and "1321.5" in done.out


def test_two_sides_by_their_names(data: Path, folder: Path) -> None:
    named = str(data / "tables" / "003_check_tcmalloc.md")
    done = quick(folder, "explain", "003:20 / 003:31", named)
    assert done.code == 0 and "speedup = 1.29521" in done.out, done.text
    done = quick(folder, "explain", "settings like '%tcmalloc%' / settings like 'no LD%'", named)
    assert done.out.count("speedup = ") == 7
    wrong = quick(folder, "explain", "HEAD~1 / HEAD", named)
    told(wrong, 2, "'HEAD' is no run, condition, source or folder", "check out the revision")
    told(quick(folder, "explain", "003:20.speed", named), 2, "no metric 'speed'", "speedup")


def test_folders_are_sides(folder: Path) -> None:
    for name, time in (("old", "10.0"), ("new", "8.0")):
        (folder / name).mkdir()
        table(folder / name / "a.md", [f"2 | 1.3B | 16 | 1 | 1 | 1 | 512 | 20GB | {time} | | "])
    done = quick(folder, "explain", "new / old", "old", "new")
    assert done.code == 0 and "speedup = 1.25" in done.out, done.text
    assert "new/a.md" in done.out and "old/a.md" in done.out


def test_the_order_of_a_ranking(data: Path, folder: Path) -> None:
    tables = str(data / "tables" / "002_chronicles-prequel.md")
    for by, column in (("mem", "memory_gb"), ("device_hours", "device_hours")):
        ranked = quick(folder, "best", tables, "--model", "181B", "--by", by, "--format", "json")
        first = json.loads(ranked.out)[0]
        where = first["where"].rsplit("/", 1)[1]
        asked = ("explain", f"{where}.rank", tables, "--model", "181B", "--by", by)
        done = quick(folder, *asked)
        assert done.code == 0 and f"ordered by {column}" in done.out, done.text
        assert re.search(r"rank = 1\b", done.out), done.text


def test_a_number_of_a_comparison_is_told_of_its_base_too(five_jobs: str, folder: Path) -> None:
    for line in (8, 13):
        done = quick(folder, "explain", f"a:{line}.p_value", five_jobs, "--by", "mbs")
        assert done.code == 0 and "p_value = 0.0079" in done.out
    done = quick(folder, "explain", "a:8.p_value", five_jobs)
    told(done, 2, "it is a number of bench compare", "--by COLUMN")


def test_sides_may_be_absolute_paths(five_jobs: str, folder: Path) -> None:
    table(folder / "b.md", [JOB.format(mbs=1, time="12.0", date="")])
    sides = f"{folder / 'b.md'} / {folder / 'a.md'}"
    done = quick(folder, "explain", sides, "a.md", "b.md")
    assert done.code == 0 and "speedup = 0.8" in done.out
