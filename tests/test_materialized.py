"""Views that are held: they are let go before anything is written."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import duckdb
import pytest

from bench.ingest.files.pipeline import ingest, ingest_into
from bench.schema import materialized, stored_views
from bench.schema.check import check
from bench.schema.materialized import (
    OF_PAGES,
    OF_SOURCES,
    is_small,
    materialize,
    views_are_stored,
)
from bench.schema.opening import in_memory, open_read, open_write
from bench.schema.stored_views import rebuild, store_views
from bench.schema.warehouse import Warehouse
from tests.deciding import jobs, table
from tests.program import quick


def test_what_is_held_is_what_is_stored_also_after_more_is(folder: Path) -> None:
    with in_memory() as warehouse:
        for count, name in enumerate(("a.md", "b.md"), 1):
            ingest_into(warehouse, [table(folder / name, jobs([10.0, 11.0], count))], folder)
            assert warehouse.materialized == []
            views = (*OF_PAGES, *OF_SOURCES)
            computed = {view: warehouse.rows(f"FROM {view} ORDER BY ALL") for view in views}
            materialize(warehouse, *views)
            assert set(warehouse.materialized) == set(views)
            held = {view: warehouse.rows(f"FROM {view} ORDER BY ALL") for view in views}
            assert held == computed and len(held["runs"]) == 2 * count


def test_a_query_of_a_user_has_every_thread_again(folder: Path) -> None:
    with in_memory() as warehouse:
        query = "SELECT current_setting('threads'), current_setting('disabled_optimizers')"
        before = warehouse.rows(query)
        ingest_into(warehouse, [table(folder / "a.md", jobs([10.0], 1))], folder)
        assert is_small(warehouse)
        materialize(warehouse, *OF_PAGES)
        warehouse.release()
        assert warehouse.rows(query) == before
        assert warehouse.rows("SELECT count(*) FROM duckdb_tables() WHERE temporary") == [(0,)]


def test_the_next_warehouse_has_every_thread_though_a_view_failed() -> None:
    query = "SELECT current_setting('threads'), current_setting('disabled_optimizers')"
    with in_memory() as warehouse:
        before = warehouse.rows(query)
    with pytest.raises(duckdb.CatalogException), in_memory() as warehouse:
        materialize(warehouse, "no_such_view")
    with in_memory() as warehouse:
        assert warehouse.rows(query) == before


def test_a_window_over_a_long_run_reads_each_interval_once() -> None:
    """Without DuckDB's optimizer each was compared with all others: minutes for 10^5 intervals."""
    with in_memory() as warehouse:
        materialize(warehouse, "current_uris")
        began = time.process_time()
        warehouse.rows("SELECT max(i) OVER (PARTITION BY i // 20000) FROM range(20000) of_run(i)")
        assert time.process_time() - began < 0.5  # seconds; 2 it was


def test_a_file_stores_its_views_until_something_is_written(folder: Path, data: Path) -> None:
    db = folder / "bench.duckdb"
    assert quick(folder, "ingest", str(data / "tables")).code == 0
    stored_are_shown(db)
    log = folder / "new.log"
    shutil.copy(data / "logs" / "fugaku_dp2.log", log)
    ingest([log], db)  # alone, without what follows
    with open_read(db) as warehouse:
        assert not views_are_stored(warehouse)
        materialize(warehouse, "sources")
        assert warehouse.rows("SELECT 1 FROM sources WHERE uri = 'new.log'") == [(1,)]
    assert quick(folder, "ingest", "new.log").code == 0
    stored_are_shown(db)
    assert quick(folder, "forget", "new.log").code == 0
    stored_are_shown(db)


def test_views_of_another_version_are_not_read(folder: Path) -> None:
    db = folder / "bench.duckdb"
    table(folder / "a.md", jobs([10.0, 11.0], 1))
    assert quick(folder, "ingest", "a.md").code == 0
    with duckdb.connect(str(db)) as con:
        con.execute("UPDATE raw.applied SET sha256 = '0 other' WHERE number = 0")
    with open_read(db) as warehouse:
        assert not views_are_stored(warehouse)


def test_changed_sources_alone_are_stored_again(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(materialized, "SMALL", 0)  # as in a large warehouse
    db = folder / "bench.duckdb"
    assert quick(folder, "ingest", str(data / "tables" / "004_tr3m-1B3.md")).code == 0
    table(folder / "a.md", jobs([10.0, 11.0], 1))
    table(folder / "b.md", jobs([10.0, 11.0], 1))
    shutil.copy(data / "logs" / "fugaku_dp2.log", folder / "new.log")
    steps = ("ingest a.md", "ingest b.md", "ingest new.log", "forget a.md", "forget --undo a.md")
    for step in steps:
        assert quick(folder, *step.split()).code == 0, step
        stored_are_shown(db)
    # A process that ends before it has audited leaves the results to the next: b.md was a copy.
    table(folder / "a.md", jobs([12.0], 1))
    ingest([folder / "a.md"], db)
    with open_write(db) as warehouse:
        store_views(warehouse, results=False)
        assert not views_are_stored(warehouse)
    with open_read(db) as warehouse:
        materialize(warehouse, "runs")
        [(here,)] = warehouse.rows("SELECT count(*) FROM runs WHERE uri = 'a.md'")
        assert here == 1 and views_are_stored(warehouse) is False
    assert quick(folder, "ingest", "b.md").code == 0
    stored_are_shown(db)
    monkeypatch.setattr(stored_views, "AT_ONCE", 1)  # in batches
    batches = 0

    def failing_once(warehouse: Warehouse, *, results: bool) -> bool:
        nonlocal batches
        batches += 1
        if batches == 2:
            raise KeyboardInterrupt
        return refresh(warehouse, results=results)

    refresh = stored_views._refresh
    monkeypatch.setattr(stored_views, "_refresh", failing_once)
    with open_write(db) as warehouse, pytest.raises(KeyboardInterrupt):
        rebuild(warehouse)
    with open_read(db) as warehouse:
        assert not views_are_stored(warehouse)
    assert quick(folder, "ingest", "new.log").code == 0  # continues, with nothing new
    stored_are_shown(db)
    assert batches > 3


def stored_are_shown(db: Path) -> None:
    """The tables that the file has hold what the views show that they stand for."""
    with open_read(db) as warehouse:
        assert views_are_stored(warehouse)
        [found] = [one for one in check(warehouse, deep=True) if one.name == "stored views"]
    assert not found.problems
