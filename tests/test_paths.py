"""[[paths]] of bench.toml: what names of folders and files tell, proved on its own example."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.project.path_patterns import checked
from bench.schema.errors import BenchError
from tests.making import log, table
from tests.program import quick, selected, told

SWEEP = """[[paths]]
pattern = "dp-{dp}_tp-{tp}_pp-{pp}/"
example = "runs/dp-1_tp-1_pp-8/train.log"
gives = { dp = 1, tp = 1, pp = 8 }
"""


def entry(pattern: str, example: str, gives: str) -> str:
    return f'[[paths]]\npattern = "{pattern}"\nexample = "{example}"\ngives = {gives}\n'


@pytest.mark.parametrize(
    ("pattern", "path", "gives"),
    [
        ("dp-{dp}_tp-{tp}_pp-{pp}/", "a/dp-2_tp-4_pp-16/x/y.log", {"dp": 2, "tp": 4, "pp": 16}),
        ("{nodes:int}node/", "64node/a.log", {"nodes": 64}),
        ("{nodes}node/*.log", "runs/64node/a.log", {"nodes": 64}),
        ("*_n{nodes}_dp{dp}_tp{tp}_pp{pp}-*", "meg_base_n16_dp1_tp4_pp16-1809577.out",
         {"nodes": 16, "dp": 1, "tp": 4, "pp": 16}),
        ("{device}/{dtype}/", "A64FX/bfloat16/a.log", {"device": "A64FX", "dtype": "bf16"}),
        ("{model}-{}-{nodes}/", "1.3B-small-torus-8/a.log", {"model": "1.3B", "nodes": 8}),
        ("{recompute}.log", "full.log", {"recompute": "full"}),
    ],
)  # fmt: skip
def test_a_pattern_reads_its_example(pattern: str, path: str, gives: dict[str, object]) -> None:
    made = checked(pattern, path, gives, "bench.toml:1", 1)
    assert made.values(path) is not None


def test_what_fits_twice_in_two_ways_tells_nothing() -> None:
    made = checked("tp{tp}/", "tp2/a.log", {"tp": 2}, "", 1)
    assert made.values("tp2/tp4/a.log") is None and made.values("tp2/tp2/a.log") == {"tp": "2"}
    assert made.values("http2/a.log") is None and made.values("tp2") is None
    assert made.values("tp2x/a.log") is None


def test_logs_below_a_declared_folder_tell_it(folder: Path) -> None:
    (folder / "bench.toml").write_text(
        SWEEP + entry("{nodes:int}node/*.log", "4node/a.log", "{ nodes = 4 }")
    )
    for name in ("runs/dp-1_tp-1_pp-8/64node/a.log", "other/a.log"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(log(12, 100.0 + len(name)))
    (folder / "runs/dp-1_tp-1_pp-8/t.md").write_text(table("4 | 124M | 1 | 1 | 1 | 1 | 8 | 4 | 1"))
    quick(folder, "ingest", "-q", ".")
    query = (
        "SELECT uri, nodes, dp, pp, annotated FROM configurations WHERE origin = 'log' ORDER BY uri"
    )
    assert selected(folder, query) == [
        {"uri": "other/a.log", "nodes": None, "dp": None, "pp": None, "annotated": None},
        {"uri": "runs/dp-1_tp-1_pp-8/64node/a.log", "nodes": 64, "dp": 1, "pp": 8,
         "annotated": ["dp", "nodes", "pp", "tp"]},
    ]  # fmt: skip
    query = "SELECT DISTINCT file, line, reason, origin FROM user_facts ORDER BY line"
    assert selected(folder, query) == [
        {"file": "bench.toml", "line": 1, "reason": "its path matches dp-{dp}_tp-{tp}_pp-{pp}/",
         "origin": "path"},
        {"file": "bench.toml", "line": 5, "reason": "its path matches {nodes:int}node/*.log",
         "origin": "path"},
    ]  # fmt: skip
    below = folder / "runs"
    [row] = json.loads(quick(below, "runs", "dp-1_tp-1_pp-8/64node", "--format", "json").out)
    assert (row["dp"], row["pp"], row["nodes"]) == (1, 8, 64), "from a folder below, in memory"
    quick(folder, "ingest", "-q", "runs", "--set", "dp=4")
    query = """SELECT value, outcome, stated FROM user_facts JOIN runs USING (run_id)
               WHERE field = 'dp' AND runs.origin = 'log' ORDER BY value"""
    assert selected(folder, query) == [
        {"value": "1", "outcome": "outvoted", "stated": "4"},
        {"value": "4", "outcome": "counts", "stated": None},
    ]
    (folder / "bench.toml").unlink()
    quick(folder, "ingest", "-q", ".")
    assert selected(folder, "SELECT DISTINCT field FROM user_facts") == [{"field": "dp"}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (entry("dp-{pd}/", "dp-1/a.log", "{ dp = 1 }"), ("unknown field 'pd'", "bench.toml:1")),
        (entry("dp-{dp}/", "tp-1/a.log", "{ dp = 1 }"), ("does not match its example",)),
        (entry("dp-{dp}/", "dp-1", "{ dp = 1 }"), ("does not match its example",)),
        (entry("dp-{dp}/", "dp-1/a", "{ dp = 2 }"), ("other values", "gives = { dp = 1 }")),
        (entry("a/", "a/b", "{}"), ("has no column",)),
        (entry("{tp}-{tp}/", "1-1/b", "{ tp = 1 }"), ("repeats a column",)),
        (entry("*****{tp}/", "1/b", "{ tp = 1 }"), ("too many *",)),
        (entry("{tp:float}/", "1/b", "{ tp = 1 }"), ("unknown type 'float'", "{tp:int}")),
        (SWEEP + "gvies = 3\n", ("unknown setting 'paths.gvies'", "did you mean 'gives'")),
        (SWEEP.replace("gives", "#"), ("'paths.gives'", "bench.toml:1")),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    folder: Path, text: str, words: tuple[str, ...]
) -> None:
    (folder / "bench.toml").write_text(text)
    (folder / "a.log").write_text(log(3))
    told(quick(folder, "runs", "a.log"), 2, "bench.toml", *words)


def test_a_long_name_is_looked_at_quickly() -> None:
    made = checked("*a*a*a{tp}a/", "aaa1a/x", {"tp": 1}, "", 1)
    assert made.values(f"{'a' * 255}/x") is None
    with pytest.raises(BenchError):
        checked("{tp}/", "0/x", {"tp": 0}, "", 1)
