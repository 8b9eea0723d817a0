"""Documents that other processes read ahead are stored as if one had read them all."""

from __future__ import annotations

from pathlib import Path

from bench.audit.run import audit
from bench.ingest.ahead import WORTH_BYTES, reading_ahead
from bench.ingest.pipeline import ingest_into
from bench.schema.warehouse import Warehouse, in_memory

OTHER_EACH_TIME = ("loaded_at", "applied_at")


def everything(warehouse: Warehouse) -> dict[str, list[str]]:
    """All that is stored, but for the time of storing."""
    query = "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw' ORDER BY ALL"
    found = {}
    for (name,) in warehouse.rows(query):
        columns, rows = warehouse.table(f"SELECT * FROM raw.{name}")
        kept = [place for place, column in enumerate(columns) if column not in OTHER_EACH_TIME]
        found[name] = sorted(repr([row[place] for place in kept]) for row in rows)
    return found


def test_two_processes_store_what_one_does(root: Path, tmp_path: Path) -> None:
    for source in sorted((root / "data" / "tables").glob("00*.md")):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    for name in ("copy.md", "again.md"):
        (tmp_path / name).write_bytes((tmp_path / "001_1.3b_benchmarking.md").read_bytes())
    (tmp_path / "run.log").write_bytes((root / "data" / "logs" / "fugaku_tp2.log").read_bytes())
    (tmp_path / "prose.md").write_text("It is told at length.\n" * (WORTH_BYTES // 20))
    with reading_ahead([tmp_path], tmp_path, 2) as ahead:
        assert len(ahead.begun) + len(ahead.waiting) == 8
    stored, findings = [], []
    for processes in (1, 2):
        with in_memory() as warehouse:
            summary = ingest_into(warehouse, [tmp_path], tmp_path, processes=processes)
            assert (summary.new, summary.copies, summary.skipped) == (6, 2, ["prose.md"])
            stored.append(everything(warehouse))
            findings.append(audit(warehouse))
    assert stored[0] == stored[1]
    assert findings[0] == findings[1] and len(findings[0]) > 60


def test_little_is_read_by_the_process_itself(root: Path, tmp_path: Path) -> None:
    with reading_ahead([root / "data" / "tables"], root, 8) as ahead:
        assert ahead.pool is None and not ahead.begun
    (tmp_path / "one.md").write_text("It is told at length.\n" * (WORTH_BYTES // 20))
    with reading_ahead([tmp_path], tmp_path, 8) as ahead:
        assert ahead.pool is None
