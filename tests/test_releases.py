"""Warehouses of every release are brought up to date, and newer ones are refused in words."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from bench.ingest.files.pipeline import ingest
from bench.schema.check import check
from bench.schema.errors import Incompatible
from bench.schema.opening import open_read
from tests.making import folder
from tests.program import quick, told
from tests.released import RELEASES, unpacked

# Of each view what a person looks at; ids are other ones, and so is what newer releases read more.
QUERIES = (
    "SELECT uri, line, model, params_b FROM runs ORDER BY ALL",
    "SELECT line, iteration, step_time_s, tflops, samples_per_s FROM iterations ORDER BY ALL",
    "SELECT uri, kind, format, lines FROM sources ORDER BY ALL",
    "SELECT line, name, raw, value FROM cells ORDER BY ALL",
)


@pytest.mark.parametrize("packed", RELEASES, ids=lambda one: one.name)
def test_a_warehouse_of_a_release_shows_what_it_held(tmp_path: Path, packed: Path) -> None:
    db, fresh = unpacked(packed, tmp_path / "old.duckdb"), tmp_path / "fresh.duckdb"
    ingest([folder(tmp_path / "logs", logs=2, tables=1, iterations=20)], fresh)
    with open_read(db) as old, open_read(fresh) as new:
        for query in QUERIES:
            assert old.rows(query) == new.rows(query) != []
        assert not [problem for one in check(old, deep=True) for problem in one.problems]
    ingest([tmp_path / "logs"], db)  # read anew by newer formats, and shown once
    with open_read(db) as old, open_read(fresh) as new:
        assert old.rows(QUERIES[0]) == new.rows(QUERIES[0])


def test_a_newer_warehouse_is_refused_in_words(tmp_path: Path) -> None:
    db = unpacked(RELEASES[-1], tmp_path / "bench.duckdb")
    open_read(db).close()
    with duckdb.connect(str(db)) as con:
        con.execute("INSERT INTO raw.applied VALUES (999, '999_later.sql', 'a', now()::TIMESTAMP)")
    before = db.read_bytes()
    for line in (["runs"], ["ingest", "."], ["report"], ["db", "check"], ["forget", "1"]):
        told(
            quick(tmp_path, *line),
            Incompatible.exit_code,
            "made by another version",
            "upgrade bench",
        )
    assert db.read_bytes() == before
