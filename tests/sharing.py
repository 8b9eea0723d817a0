"""Shared warehouses for tests: places, machines (each with replicas of its own), and writers."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from bench.ingest.files.pipeline import ingest
from bench.project.after_ingest import after_ingest_into
from bench.schema.check import check
from bench.schema.commits import Change
from bench.schema.copies import compact_at
from bench.schema.errors import BenchError
from bench.schema.extensions import load
from bench.schema.location import place_of
from bench.schema.opening import open_read
from bench.schema.template import _kept
from tests.making import log
from tests.program import quick
from tests.warm import Child

INSERT = "INSERT INTO raw.hidden VALUES ('uri', ?, true, now()::TIMESTAMP)"
_ROWS = ("loads", "runs", "iterations", "cells", "facts", "findings", "audits", "run_stats")


_BROKEN = """SELECT uri, count(line) FROM raw.loads LEFT JOIN raw.iterations USING (load_id)
    WHERE contains(uri, ?) GROUP BY ALL HAVING count(line) <> 20"""


def needs_lake(name: str = "ducklake") -> None:
    """Skips where DuckDB has no such extension."""
    with duckdb.connect() as con:
        try:
            load(con, name)
        except BenchError:
            pytest.skip(f"NOT TESTED: no extension {name} for DuckDB {duckdb.__version__}")


def made(form: str, folder: Path) -> Path:
    """An empty shared warehouse of this form."""
    if form != "folder":
        needs_lake()
    names = {"folder": "folder:{}/shelf", "sqlite": "ducklake:sqlite:{}/lake.sqlite",
             "duckdb": "ducklake:{}/lake.ducklake"}  # fmt: skip
    place = Path(names[form].format(folder))
    place_of(place).create(None)
    return place


def at(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on this process is on another machine: it knows no replica of the first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(furnished(machine)))


def furnished(machine: Path) -> Path:
    """A cache for a machine, with the template of a warehouse, which takes seconds to make."""
    template = _kept()
    (machine / "bench").mkdir(parents=True, exist_ok=True)
    kept = machine / "bench" / template.name
    if not kept.exists():  # a copy: the folders of tests may lie on another disk than the cache
        draft = kept.with_suffix(f".{os.getpid()}")
        shutil.copyfile(template, draft)
        os.replace(draft, kept)
    return machine


def take(files: Path, place: Path) -> None:
    """What `bench ingest` does."""
    summary = ingest([files], place)
    assert summary.failed == []
    after_ingest_into(place, 5, summary.uris)


def page(place: Path) -> str:
    """A page of a warehouse, as people get it."""
    done = quick(Path.cwd(), "report", "--format", "md", "--db", str(place))
    assert done.code == 0, done.text
    return done.out


def stored(place: Path) -> dict[str, int]:
    """Rows by table, and that nothing is wrong with them."""
    with open_read(place) as warehouse:
        assert [problem for one in check(warehouse) for problem in one.problems] == []
        return {
            table: int(warehouse.rows(f"SELECT count(*) FROM raw.{table}")[0][0]) for table in _ROWS
        }


def write(
    ready: Connection, machine: Path, files: Path, place: Path, environment: dict[str, str]
) -> None:
    """A writer on a machine of its own: small batches, so that there are many commits."""
    os.environ.update(environment, XDG_CACHE_HOME=str(machine))
    from bench.ingest.files import pipeline

    pipeline._BATCH_FILES = 3
    ready.send("ready")
    take(files, place)


def raced(place: Path, top: Path, files: list[Path]) -> None:
    """A writer for each folder of files, each on a machine of its own, at once."""
    children = [
        Child(write, furnished(top / f"machine{number}"), each, place, dict(os.environ))
        for number, each in enumerate(files)
    ]
    for child in children:
        child.process.join(500)  # a machine may be busy with other tests
    assert [child.end() for child in children] == [0] * len(children)


def killed(place: Path, top: Path, files: Path, kills: int, longest_s: float) -> None:
    """Two writers of the same logs of 20 lines, both killed at random moments, again and again.

    After each kill there are whole files only, and a page is what it is when all that follows from
    them is stored; the machines keep their replicas.
    """
    dice = random.Random(20)
    for number in range(kills):
        children = [
            Child(write, furnished(top / f"machine{machine}"), files, place, dict(os.environ))
            for machine in (0, 1)
        ]
        time.sleep(dice.uniform(0, longest_s))
        children[number % 2].kill()
        children[1 - number % 2].kill()
        for child in children:
            child.end()
        stored(place)
        with open_read(place) as warehouse:
            assert warehouse.rows(_BROKEN, [f"{files.name}/run"]) == []
            any_in = bool(warehouse.rows("SELECT 1 FROM runs LIMIT 1"))
        if any_in and number % 3 == 0:
            between = page(place)
            after_ingest_into(place, 5)
            assert page(place) == between


def hidden(name: str, between: Callable[[], None]) -> Change:
    """A row, with something done after it was written and before it is committed."""

    def rows() -> Iterator[pa.Table]:
        at = datetime(2026, 1, 1)
        yield pa.table({"scope": ["uri"], "id": [name], "hidden": [True], "hidden_at": [at]})
        between()

    return Change(0, {"hidden": rows})


def tail(ready: Connection, machine: Path, file: Path, place: Path, done: Path) -> None:
    """A watcher of a log on a machine of its own, until all is written; then once more."""
    os.environ["XDG_CACHE_HOME"] = str(machine)
    ready.send("ready")
    last = False
    while not last:
        last = done.exists()
        ingest([file], place, live=not last)


def tend(ready: Connection, machine: Path, place: Path, done: Path) -> None:
    """Who compacts and collects, again and again, what is a day old."""
    os.environ["XDG_CACHE_HOME"] = str(machine)
    ready.send("ready")
    while not done.exists():
        compact_at(place, 5)
        place_of(place).collect(timedelta(days=1))
        time.sleep(0.5)


def tailed(place: Path, top: Path, tails: int, pieces: int, written: Sequence[Path] = ()) -> None:
    """Tails of one log that grows by five iterations a piece, beside a writer for each folder of
    files, and who compacts and collects."""
    file, done = top / "live.log", top / "done"
    file.write_text(log(5))
    machines = [furnished(top / f"tail{number}") for number in range(tails + 1)]
    children = [Child(tail, machine, file, place, done) for machine in machines[1:]]
    children.append(Child(tend, machines[0], place, done))
    children += [
        Child(write, furnished(top / f"beside{number}"), each, place, dict(os.environ))
        for number, each in enumerate(written)
    ]
    for number in range(2, pieces + 1):
        time.sleep(0.3)
        with file.open("a") as log_file:
            log_file.write(log(5 * number)[len(log(5 * (number - 1))) :])
    done.touch()
    for child in children:
        child.process.join(500)
    assert [child.end() for child in children] == [0] * len(children)
