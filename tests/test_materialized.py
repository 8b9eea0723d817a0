"""Views that are held: they are let go before anything is written."""

from __future__ import annotations

from pathlib import Path

from bench.ingest.pipeline import ingest_into
from bench.schema.materialized import OF_PAGES, OF_SOURCES, is_small, materialize
from bench.schema.warehouse import in_memory
from tests.deciding import jobs, table


def test_what_is_held_is_what_is_stored_also_after_more_is(folder: Path) -> None:
    with in_memory() as warehouse:
        for count, name in enumerate(("a.md", "b.md"), 1):
            ingest_into(warehouse, [table(folder / name, jobs([10.0, 11.0], count))], folder)
            assert warehouse.materialized == []
            views = (*OF_PAGES, *OF_SOURCES)
            stored = {view: warehouse.rows(f"FROM {view} ORDER BY ALL") for view in views}
            materialize(warehouse, *views)
            assert set(warehouse.materialized) == set(views)
            held = {view: warehouse.rows(f"FROM {view} ORDER BY ALL") for view in views}
            assert held == stored and len(held["runs"]) == 2 * count


def test_a_query_of_a_user_has_every_thread_again(folder: Path) -> None:
    with in_memory() as warehouse:
        before = warehouse.rows("SELECT current_setting('threads')")
        ingest_into(warehouse, [table(folder / "a.md", jobs([10.0], 1))], folder)
        assert is_small(warehouse)
        materialize(warehouse, *OF_PAGES)
        warehouse.release()
        assert warehouse.rows("SELECT current_setting('threads')") == before
        assert warehouse.rows("SELECT count(*) FROM duckdb_tables() WHERE temporary") == [(0,)]
