"""Long logs like none that is known are hashed while they are read; all else is looked at first."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.ingest.files import content, planner
from bench.ingest.files.content import LONG_BYTES, Changed, read_content, stamp_of, unhashed
from bench.ingest.files.parsed import Parsed
from bench.ingest.files.pipeline import ingest
from bench.ingest.files.source import read_file
from bench.ingest.files.streams import Hashing
from bench.ingest.files.task import Task
from bench.schema.opening import open_read
from bench.schema.rows import Rows

STEP = (
    " iteration {n:8d}/ 9999 | elapsed time per iteration (ms): 100.0 | lm loss: 2.0E+00 |"
    " number of skipped iterations: 0 | number of nan iterations: 0 |\n"
)
STEPS = LONG_BYTES // len(STEP) + 999


def long_log(path: Path, end: str = "") -> Path:
    lines = [STEP.format(n=n) for n in range(1, STEPS + 1)]
    path.write_text("".join(lines) + end)
    assert path.stat().st_size > LONG_BYTES
    return path


def stored(db: Path) -> list[tuple[str, str, int]]:
    """What shows: uri, SHA-256, steps of its source."""
    query = """SELECT uri, sha256, (SELECT count(*) FROM iterations JOIN runs USING (run_id)
                   WHERE runs.source_id = l.source_id)
               FROM raw.loads l SEMI JOIN current_loads USING (load_id) ORDER BY ALL"""
    with open_read(db) as warehouse:
        return warehouse.rows(query)


@given(st.lists(st.binary(max_size=90_000), max_size=12))
def test_pieces_are_hashed_in_their_order(pieces: list[bytes]) -> None:
    hashing = Hashing()
    for piece in pieces:
        hashing.update(piece)
    whole = b"".join(pieces)
    assert (hashing.hexdigest(), hashing.size) == (hashlib.sha256(whole).hexdigest(), len(whole))


@pytest.mark.parametrize("end", ["", " iteration 99999/ 9999 | elapsed"])
def test_a_new_long_log_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    log, db = long_log(tmp_path / "run.log", end), tmp_path / "bench.duckdb"
    sha256 = read_content(log).sha256
    while not stamp_of(log).settled:
        pass
    for module in (content, planner):  # it is hashed neither before nor again
        monkeypatch.setattr(module, "fingerprint_of", None)
    ingest([log], db)
    monkeypatch.undo()
    [(uri, told, steps)] = stored(db)
    assert (uri, told) == ("run.log", sha256) and steps == STEPS
    assert ingest([log], db).known == 1


def test_a_copy_of_a_long_log_shares_what_is_stored(tmp_path: Path) -> None:
    first, db = long_log(tmp_path / "a.log"), tmp_path / "bench.duckdb"
    (tmp_path / "b.log").write_bytes(first.read_bytes())
    assert ingest([tmp_path], db).copies == 1
    (_, sha256, steps), (_, same, none) = stored(db)
    assert sha256 == same and steps == none > 0


def test_logs_of_one_size_are_told_apart(tmp_path: Path) -> None:
    first, db = long_log(tmp_path / "a.log"), tmp_path / "bench.duckdb"
    (tmp_path / "b.log").write_text(first.read_text().replace("2.0E+00", "3.0E+00"))
    assert ingest([tmp_path], db).copies == 0
    assert len({sha256 for _, sha256, _ in stored(db)}) == 2


def test_a_long_log_that_holds_a_table_is_a_document(tmp_path: Path) -> None:
    table = "| Model | Nodes | Time per iteration (s) | TFLOPs |\n|:--|--:|--:|--:|\n"
    rows = "".join(f"| 1.3B | {n} | {100 / n:.2f} | 50.0 |\n" for n in range(1, 9))
    line = "Nothing that anybody reads. " * 40 + "\n"
    text = f"# Sweep\n\n{table}{rows}\n" + line * (LONG_BYTES // len(line) + 1)
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(text + name)
    ingest([tmp_path / "a.log"], tmp_path / "bench.duckdb")
    with open_read(tmp_path / "bench.duckdb") as warehouse:
        assert warehouse.rows("SELECT kind FROM sources") == [("document",)]


def test_a_log_that_is_cut_while_it_is_read_has_changed(tmp_path: Path) -> None:
    log = long_log(tmp_path / "run.log")
    whole, longer = (unhashed(log, stamp_of(log)) for _ in range(2))
    assert whole and longer
    read_file(Task(whole, log.name, "s"))
    assert whole.sha256 == read_content(log).sha256
    longer.size += 1
    with pytest.raises(Changed):
        read_file(Task(longer, log.name, "s"))


def test_a_log_that_is_written_over_while_it_is_read_is_no_mixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, db = long_log(tmp_path / "run.log"), tmp_path / "bench.duckdb"
    other = log.read_bytes().replace(b"2.0E+00", b"3.0E+00")
    add = Parsed.add

    def written_over(parsed: Parsed, rows: Rows) -> None:
        monkeypatch.undo()
        with log.open("r+b") as file:
            file.write(other)
        add(parsed, rows)

    monkeypatch.setattr(Parsed, "add", written_over)
    ingest([log], db)
    [(_, sha256, steps)] = stored(db)
    assert (sha256, steps) == (hashlib.sha256(other).hexdigest(), STEPS)
    with open_read(db) as warehouse:
        assert warehouse.rows("SELECT DISTINCT loss FROM iterations") == [(3.0,)]
