"""The rules of run_stats, measured and token_rates, against plain Python; every mutant is caught.

Each rule is computed here a second time. Then a part of the SQL is changed, and the comparison
has to fail: else nothing would notice that the part is wrong.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import pytest

from bench.schema.generated import expand
from bench.schema.opening import in_memory
from bench.schema.rows import Rows
from bench.schema.sql import sql_file, sql_files
from bench.schema.store import insert
from bench.schema.warehouse import Warehouse


@dataclass(frozen=True)
class Line:
    """An interval as a log prints it; `pause`: an evaluation stands above the line."""

    line: int
    segment: int
    iteration: int
    time: float
    length: int = 1
    pause: bool = False


LOGS = {
    # A start, an evaluation, a restart that does iterations 5 and 6 again, with a save in between.
    "restarted": (
        Line(10, 1, 1, 9.0), Line(12, 1, 2, 2.0), Line(14, 1, 3, 2.2),
        Line(17, 1, 4, 5.0, pause=True), Line(20, 1, 5, 2.4), Line(22, 1, 6, 7.7),
        Line(30, 2, 5, 8.0), Line(32, 2, 6, 2.6), Line(35, 2, 7, 6.0, pause=True),
        Line(38, 2, 8, 2.1), Line(40, 2, 9, 3.9),
    ),
    # Means over ten iterations, of unequal length at the end; the first line stands within the
    # first ten, and pauses are not counted into the intervals of this framework.
    "means": (
        Line(4, 1, 4, 30.0), Line(5, 1, 10, 4.0, 10), Line(6, 1, 20, 2.0, 10),
        Line(8, 1, 30, 3.0, 10, pause=True), Line(9, 1, 34, 5.0, 4), Line(10, 1, 44, 2.5, 10),
    ),
    # Warm-up is all there is: better that than nothing.
    "short": (Line(3, 1, 1, 6.0),),
    # Each line holds an evaluation, but for the first: the second grade counts then.
    "evaluated": (
        Line(4, 1, 1, 9.5), Line(8, 1, 2, 3.0, pause=True), Line(12, 1, 3, 4.0, pause=True)
    ),
    # Printed in whole seconds.
    "coarse": (
        Line(1, 1, 1, 9.0), Line(2, 1, 2, 2.0), Line(3, 1, 3, 2.0), Line(4, 1, 4, 2.0),
        Line(5, 1, 5, 3.0), Line(6, 1, 6, 4.0),
    ),
}  # fmt: skip
FRAMEWORKS = {
    "restarted": "Megatron-DeepSpeed",
    "means": "DeepSpeed",
    "short": "Megatron-DeepSpeed",
    "evaluated": "Megatron-LM",
    "coarse": "DeepSpeed",
}


@cache
def stored() -> Warehouse:
    """The logs in a warehouse that all mutants share: statistics are made anew for each."""
    warehouse = in_memory()
    rows = Rows()
    for run, lines in LOGS.items():
        rows.add(
            "runs", source_id="s", run_id=run, origin="log", line=1, last_line=99,
            framework=FRAMEWORKS[run], status="ok", kind="measured", flags=[], job_ids=[],
        )  # fmt: skip
        for one in lines:
            rows.add(
                "iterations", run_id=run, segment=one.segment, iteration=one.iteration,
                interval_length=one.length, line=one.line, step_time_s=one.time, gbs=8,
            )  # fmt: skip
            if one.pause:
                rows.add("evaluations", run_id=run, line=one.line - 1, name="valid", metric="loss")
    insert(warehouse.con, rows, "load")
    return warehouse


def expected(run: str) -> dict[str, Any]:
    """The rule once more: later copies count, warm-up and intervals with a pause do not."""
    newest = {one.iteration: one for one in LOGS[run]}
    kept = sorted(newest.values(), key=lambda one: one.line)
    first: dict[int, int] = {}
    for one in kept:
        first.setdefault(one.segment, one.iteration)
    counting = FRAMEWORKS[run].startswith("Megatron")
    warm = [one for one in kept if one.iteration - one.length + 1 <= first[one.segment]]
    rest = [one for one in kept if one not in warm]
    plain = [one for one in rest if not (one.pause and counting)]
    used = plain or rest or warm
    steps = sum(one.length for one in used)
    return {
        "n": steps,
        "lines": len(used),
        "first_iteration": min(used, key=lambda one: one.iteration).iteration
        - min(used, key=lambda one: one.iteration).length + 1,
        "last_iteration": max(one.iteration for one in used),
        "median": statistics.median(one.time for one in used),
        "mean": sum(one.time * one.length for one in used) / steps,
        "min": min(one.time for one in used),
        "max": max(one.time for one in used),
    }  # fmt: skip


def disagreements(text: str, long: int = 1000) -> list[str]:
    """Runs whose statistics by this SQL are not those of the rule; those above `long` are long."""
    warehouse = stored()
    warehouse.con.execute("DELETE FROM raw.run_stats")
    parameters = {"load_ids": ["load"], "rule_version": 2, "few": True, "long": long}
    warehouse.con.execute(text, parameters)
    found = {
        row["run_id"]: row
        for row in warehouse.dicts("SELECT * FROM raw.run_stats WHERE metric = 'step_time_s'")
    }
    return [
        run
        for run in LOGS
        if run not in found
        or any(found[run][name] != pytest.approx(value) for name, value in expected(run).items())
    ]


@pytest.mark.parametrize("long", [0, 3, 1000])
def test_statistics_are_those_of_the_rule(long: int) -> None:
    assert disagreements(sql_file("run_stats"), long) == []


@pytest.mark.parametrize(
    ("was", "is_"),
    [
        ("ORDER BY segment DESC, line DESC", "ORDER BY segment, line"),
        ("HAVING count(*) > 1", "HAVING count(*) > 9"),
        ("ANTI JOIN repeated", "SEMI JOIN repeated"),
        ("iteration - length + 1 <= first_logged", "iteration < first_logged"),
        ("iteration - length + 1 <= first_logged", "iteration <= first_logged"),
        ("min_by(iteration, (line, iteration))", "max_by(iteration, (line, iteration))"),
        ("first_logged THEN 3", "first_logged THEN 1"),
        ("first_logged THEN 3", "first_logged THEN 2"),
        ("AND e.line <= k.line", "AND e.line >= k.line"),
        ("ASOF JOIN kept k ON", "JOIN kept k ON"),
        ("FROM pauses SEMI JOIN counting USING (run_id)", "FROM pauses"),
        ("WHERE now <= least", "WHERE now = 1"),
        ("WHERE now <= least", "WHERE true"),
        ("HAVING count(*) > 1 OR max(first_ones)", "HAVING max(first_ones)"),
        ("min(now) OVER (PARTITION BY k.run_id) AS least", "1 AS least"),
        ("j.before = g.grade", "j.before <> g.grade"),
        ("n := sum(CASE", "n := count(CASE"),
        ("[0.5, 0.95]", "[0.6, 0.95]"),
        ("quantiles := quantile_cont(", "quantiles := quantile_disc("),
        ("s.total / s.n", "s.total / s.lines"),
        ("* length)", "* 1)"),
        ("arg_min(length, CASE", "1 + 0 * arg_min(length, CASE"),
        ("low := min(", "low := max("),
        ("high := max(", "high := min("),
    ],
)  # fmt: skip
def test_a_mutant_of_the_statistics_is_caught(was: str, is_: str) -> None:
    assert_caught(was, is_, long=1000)


@pytest.mark.parametrize(
    ("was", "is_"),
    [
        ("count(*) AS lines", "1 AS lines"),
        ("[0.5, 0.95])::DOUBLE", "[0.6, 0.95])::DOUBLE"),
        ("metric, share) - 1)", "metric, share))"),
        ("share ORDER BY about)", "share ORDER BY about DESC)"),
        ("upto - a.lines AS below", "0 AS below"),
        ("upto - a.lines <= ceil(place)", "upto - a.lines < floor(place)"),
        ("upto > floor(place)", "upto >= floor(place)"),
        ("upto > ceil(place)", "upto > floor(place)"),
        ("* (1 - part)", "* part"),
        ("ORDER BY share)", "ORDER BY share DESC)"),
        ("AND l.metric = t.metric", ""),
    ],
)
def test_a_mutant_of_the_medians_of_long_runs_is_caught(was: str, is_: str) -> None:
    assert_caught(was, is_, long=0)


def assert_caught(was: str, is_: str, long: int) -> None:
    text = sql_file("run_stats")
    assert was in text
    try:
        wrong = disagreements(text.replace(was, is_), long)
    except duckdb.Error:
        return  # a mutant that does not run is caught as well
    assert wrong


# What is measured, and tokens a second.

MEASURED = (
    # run, metric, value, unit, scope, line
    ("two", "tflops", 40.0, "TFLOP/s", "node", 1),
    ("two", "tflops", 10.0, "TFLOP/s", "process", 1),
    ("two", "tflops", 320.0, "TFLOP/s", "job", 1),
    ("empty", "tflops", None, "TFLOP/s", "device", 1),
    ("empty", "tflops", 7.0, "TFLOP/s", "node", 1),
    ("two", "step_time_s", 4.0, "s", None, 1),
    ("two", "tokens_per_s", 9999.0, "tokens/s", "job", 1),
    ("rate", "tokens_per_s_per_device", 50.0, "tokens/s", "device", 1),
    ("rate", "samples_per_s", 2.0, "1/s", "job", 1),
    ("samples", "samples_per_s", 2.0, "1/s", "job", 1),
    ("odd", "step_time_s", float("inf"), "s", None, 1),
)
# run: gbs, seq_len, devices
SETUPS = {"two": (16, 100, 8), "empty": (16, 100, 8), "rate": (None, 100, 4),
          "samples": (None, 100, 4), "odd": (16, 100, 8)}  # fmt: skip
RATES = {"two": 16 * 100 / 4.0, "rate": 50.0 * 4, "samples": 2.0 * 100}
ENDS = {"two": (16 * 100 / 4.5, 16 * 100 / 3.5), "rate": (50.0 * 4 - 2, 50.0 * 4 + 2),
        "samples": (2.0 * 100 - 50, 2.0 * 100 + 50)}  # fmt: skip
COUNTED = {("two", "tflops"): 10.0, ("empty", "tflops"): 7.0}


@cache
def published() -> Warehouse:
    """The rows of documents in a warehouse that all mutants share."""
    warehouse = in_memory()
    rows = Rows()
    for run, (gbs, seq_len, devices) in SETUPS.items():
        rows.add("runs", source_id="s", run_id=run, origin="row", line=1, last_line=1, status="ok",
                 kind="measured", flags=[], job_ids=[], seq_len=seq_len)  # fmt: skip
        rows.add("topology", run_id=run, gbs=gbs, devices=devices)
    for run, metric, value, unit, scope, line in MEASURED:
        half = 0.5
        rows.add("measurements", run_id=run, metric=metric, value=value, unit=unit, scope=scope,
                 low=None if value is None else value - half, raw=str(value), flags=[], marks=[],
                 high=None if value is None else value + half, line=line)  # fmt: skip
    insert(warehouse.con, rows, "load")
    warehouse.con.execute(
        "INSERT INTO raw.loads VALUES ('u', 1, 'load', 's', '', 0, 0, 1, now()::TIMESTAMP)"
    )
    return warehouse


def off(text: str) -> bool:
    """Whether the views, with this text in the place of one of them, tell something else."""
    warehouse = published()
    warehouse.con.execute("BEGIN")
    try:
        warehouse.con.execute(expand(text))
        counted = {
            (run, metric): value
            for run, metric, value in warehouse.rows("SELECT run_id, metric, value FROM measured")
        }
        rates = {
            run: (value, low, high)
            for run, value, low, high in warehouse.rows(
                "SELECT run_id, value, low, high FROM token_rates"
            )
        }
    finally:
        warehouse.con.execute("ROLLBACK")
    right = {run: (RATES[run], *ENDS[run]) for run in RATES}
    if rates.keys() != right.keys() or ("odd", "step_time_s") in counted:
        return True
    return any(counted.get(key) != value for key, value in COUNTED.items()) or any(
        rates[run] != pytest.approx(values) for run, values in right.items()
    )


def text_of(name: str) -> str:
    return dict(sql_files("views"))[name]


@pytest.mark.parametrize("name", ["04_measured", "09_token_rates"])
def test_what_is_measured_is_what_the_rule_says(name: str) -> None:
    assert not off(text_of(name))


@pytest.mark.parametrize(
    ("name", "was", "is_"),
    [
        ("04_measured", "['device', 'process', 'node', 'job']",
         "['job', 'node', 'process', 'device']"),
        ("04_measured", "ORDER BY value IS NULL,", "ORDER BY value IS NOT NULL,"),
        ("04_measured", "WHERE value IS NULL OR isfinite(value)", ""),
        ("04_measured", "PARTITION BY run_id, metric", "PARTITION BY metric"),
        ("09_token_rates", "WHEN 'samples_per_s' THEN c.seq_len", "WHEN 'samples_per_s' THEN 1"),
        ("09_token_rates", "WHEN 'tokens_per_s_per_device' THEN counted",
         "WHEN 'tokens_per_s_per_device' THEN 1"),
        ("09_token_rates", "per(c.tokens_per_step, m.high) ELSE m.low * factor END AS low",
         "per(c.tokens_per_step, m.low) ELSE m.low * factor END AS low"),
        ("09_token_rates", "per(c.tokens_per_step, m.low) ELSE m.high * factor END AS high",
         "per(c.tokens_per_step, m.low) ELSE m.low * factor END AS high"),
        ("09_token_rates", "list_position(['step_time_s', 'tokens_per_s',",
         "list_position(['tokens_per_s', 'step_time_s',"),
        ("09_token_rates", "per(c.tokens_per_step, m.value) ELSE",
         "m.value * c.tokens_per_step ELSE"),
        ("09_token_rates", "= 1;", "= 2;"),
    ],
)  # fmt: skip
def test_a_mutant_of_what_is_measured_is_caught(name: str, was: str, is_: str) -> None:
    text = text_of(name)
    assert was in text, "the mutant is of a text that is not there"
    assert off(text.replace(was, is_))
