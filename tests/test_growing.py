"""A log that grows is read on where its reader stopped, and shows what the whole file shows."""

from __future__ import annotations

import io
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bench.ingest.files import content as contents
from bench.ingest.files.pipeline import ingest
from bench.ingest.logs.checkpoint import freeze, thaw
from bench.ingest.logs.dialect import dialects
from bench.ingest.logs.lines import read_lines
from bench.ingest.logs.log import LogReader
from bench.schema.opening import open_read, open_write
from bench.schema.rows import Rows
from tests.growing import piece_by_piece, rows, shown, steps, whole
from tests.making import count, iteration, log
from tests.reading import LINES, LOGS, all_of, by_line

ANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(ANY, max_examples=5, phases=(Phase.explicit, Phase.reuse, Phase.generate))
# A format each, with timers, ranks, tables, failures and restarts among them.
REAL = [file for file in LOGS if file.stat().st_size < 300_000]


def in_pieces(content: bytes, every: int) -> dict[str, object]:
    """What a log gives that is put away and taken up again after so many lines."""
    *ended, last = content.split(b"\n")
    lines = [line + b"\n" for line in ended] + ([last] if last else [])
    reader, rows = LogReader("source", dialects()), Rows()
    for start in range(0, len(lines), every):
        stream = io.BytesIO(b"".join(lines[start : start + every]))
        for line in read_lines(stream, reader.line):
            reader.feed(line)
        if start + every < len(lines):
            reader.end_line()
            rows.extend(reader.take_rows())
            state = freeze(reader)
            assert state is not None
            taken_up = thaw(state, "source", dialects())
            assert taken_up is not None
            reader = taken_up
    read = reader.finish()
    rows.extend(read.rows)
    read.rows.by_table, read.rows.tables = rows.by_table, rows.tables
    return all_of(read)


@ANY
@given(st.lists(LINES, min_size=1, max_size=6), st.integers(1, 40),
       st.sampled_from([b"\n", b"\n", b"\r\n"]), st.binary(max_size=3))  # fmt: skip
def test_any_log_put_away_and_taken_up(
    parts: list[list[str]], every: int, end: bytes, tail: bytes
) -> None:
    content = end.join(line.encode() for part in parts for line in part) + tail
    assert in_pieces(content, every) == all_of(by_line(content))


def test_a_broken_line_put_away_between_its_halves() -> None:
    content = (
        b" iteration 27/ 100 | consumed \nsamples: 256 | elapsed time per iteration (ms): 15.1 |"
        b" lm loss: 2.1E+00 | number of skipped iterations: 0 | number of nan iterations: 0 |\n"
    )
    assert in_pieces(content, 1) == all_of(by_line(content))


@pytest.mark.parametrize("file", REAL, ids=lambda file: file.name)
def test_a_real_log_put_away_and_taken_up(file: Path) -> None:
    content = file.read_bytes()
    assert in_pieces(content, 97) == all_of(by_line(content))


@pytest.mark.slow
@FEW
@given(st.sampled_from(REAL), st.data(), st.booleans(), st.booleans())
def test_pieces_of_a_log_show_what_the_whole_shows(
    file: Path, data: st.DataObject, live: bool, blocks: bool
) -> None:
    content = file.read_bytes()
    cuts = data.draw(st.lists(st.integers(1, len(content)), min_size=1, max_size=4))
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
        if blocks:
            patch.setattr(contents, "LONG_BYTES", 1000)
        for folder in ("pieces", "whole"):
            Path(name, folder).mkdir()
        piece_by_piece(content, cuts, file.name, Path(name, "pieces"), live=live)
        assert shown(Path(name, "pieces", "bench.duckdb")) == whole(
            content, file.name, Path(name, "whole")
        )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.log"


def test_only_what_is_new_is_stored(file: Path, db: Path) -> None:
    for number in (20, 30, 40, 50):
        file.write_text(log(number))
        summary = ingest([file], db, live=True)
    assert (summary.new, summary.grown, summary.changed) == (1, 1, 0)
    assert [c.rows for c in summary.formats.values()] == [13], "three may still be spoken of"
    assert steps(db) == list(range(1, 51))
    assert count(db, "raw.iterations") == 50 + 3 * 3
    with open_read(db) as warehouse:
        assert warehouse.rows("SELECT n, last_iteration FROM run_stats WHERE metric = 'gbs'") == [
            (49, 50)
        ]


def test_runs_that_were_over_before_the_log_grew_stay_as_they_are(
    file: Path, db: Path, tmp_path: Path
) -> None:
    """Of a run of Megatron-DeepSpeed a step with a save in it does not count."""
    begins = "using world size: 8, data-parallel-size: 8, tensor-model-parallel size: 1\n"
    saved = "  successfully saved checkpoint at iteration      10 to /ckpt\n"
    runs = [
        begins + log(10, ms) + saved + iteration(11, 3 * ms) + "".join(
            iteration(number, ms) for number in range(12, 41)
        )
        for ms in (100.0, 200.0, 300.0)
    ]  # fmt: skip
    for number in (1, 2, 3):
        file.write_text("".join(runs[:number]))
        ingest([file], db, live=True)
    assert count(db, "raw.parts") > 1
    assert count(db, "configurations", "gbs_logged = 8") == 3
    query = "SELECT n, max FROM run_stats WHERE metric = 'step_time_s' ORDER BY max"
    assert rows(db, query) == [(38, 0.1), (38, 0.2), (38, 0.3)]
    (tmp_path / "whole").mkdir()
    assert shown(db) == whole(file.read_bytes(), "run.log", tmp_path / "whole")


def test_a_small_log_is_read_as_a_whole_the_first_time_that_it_has_grown(
    file: Path, db: Path
) -> None:
    grown = []
    for number in (5, 10, 15, 20):
        file.write_text(log(number))
        grown.append(ingest([file], db).grown)
    assert grown == [0, 0, 1, 1]
    assert steps(db) == list(range(1, 21))


def test_a_last_line_without_end_counts_for_now(file: Path, db: Path) -> None:
    line = iteration(5)
    file.write_text(log(4) + line[:-40])
    ingest([file], db, live=True)
    assert steps(db) == [1, 2, 3, 4], "the line of a live log is not whole"
    ingest([file], db)
    assert steps(db) == [1, 2, 3, 4, 5], "as it lies, it is the end of the log"
    assert ingest([file], db, live=True).known == 1
    file.write_text(log(6))
    assert ingest([file], db, live=True).grown == 1
    assert steps(db) == [1, 2, 3, 4, 5, 6]
    assert count(db, "warnings") == 0, "the line is whole now"


def test_a_log_that_is_begun_afresh_shows_what_it_holds(file: Path, db: Path) -> None:
    for text in (log(30), log(40), log(3, 250.0), log(7, 250.0), log(50, 300.0)):
        file.write_text(text)
        ingest([file], db, live=True)
        assert steps(db) == list(range(1, text.count("\n") + 1))
    assert count(db, "runs") == 1


def test_a_live_log_that_is_begun_afresh_counts_by_its_whole_lines(file: Path, db: Path) -> None:
    for text in (log(30), log(3, 250.0) + iteration(4, 250.0)[:-40]):
        file.write_text(text)
        ingest([file], db, live=True)
    assert steps(db) == [1, 2, 3]


def test_a_state_that_is_damaged_costs_time_only(file: Path, db: Path) -> None:
    file.write_text(log(30))
    ingest([file], db, live=True)
    for damage in ("'x'::BLOB", "state[:-3]", "''::BLOB"):
        with open_write(db) as warehouse:
            warehouse.con.execute(f"UPDATE raw.checkpoints SET state = {damage}")
        with file.open("a") as stream:
            stream.write(iteration(len(steps(db)) + 1))
        assert ingest([file], db, live=True).grown == 0
        assert steps(db) == list(range(1, file.read_text().count("\n") + 1))


def test_another_process_that_was_faster_is_not_overtaken(file: Path, db: Path) -> None:
    file.write_text(log(30))
    ingest([file], db, live=True)
    file.write_text(log(35))
    done: dict[str, int] = defaultdict(int)

    def faster(uri: str) -> None:
        done[uri] += 1
        if done[uri] == 1:
            ingest([file], db, live=True)

    def meanwhile(uri: str) -> None:
        # Between the plan of the other process and its commit.
        done[uri] += 1
        if done[uri] == 1:
            with file.open("a") as stream:
                stream.write(iteration(36))
            ingest([file], db, live=True)
            file.write_text(log(37))

    for progress in (faster, meanwhile):
        done.clear()
        assert ingest([file], db, live=True, progress=progress).failed == []
    assert steps(db) == list(range(1, 38))
    assert count(db, "runs") == 1


def test_what_a_second_reading_warns_of_is_reported(file: Path, db: Path) -> None:
    file.write_text(log(30))
    ingest([file], db, live=True)
    file.write_text(log(35))
    done = 0

    def meanwhile(uri: str) -> None:
        nonlocal done
        done += 1
        if done == 1:  # the first reading is overtaken
            ingest([file], db, live=True)
            file.write_text(log(37))
        else:
            file.write_text(log(37) + iteration(37))

    summary = ingest([file], db, progress=meanwhile)
    assert done == 2
    with open_read(db) as warehouse:
        stored = warehouse.rows("SELECT code FROM warnings")
    assert [(warning.code,) for warning in summary.warnings] == stored == [("copied_lines",)]


def test_a_log_that_others_keep_storing_is_told_by_its_name(
    file: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.ingest.files.pipeline.ATTEMPTS", 1)
    file.write_text(log(3))
    ingest([file], db, live=True)

    def faster(uri: str) -> None:
        for _ in range(2):
            with file.open("a") as stream:
                stream.write(iteration(len(file.read_text().splitlines()) + 1))
            ingest([file], db, live=True)

    def lately(uri: str) -> None:
        faster(uri)
        with file.open("a") as stream:
            stream.write(iteration(len(file.read_text().splitlines()) + 1))

    failures = [("run.log", "another process keeps storing it; try again")]
    assert ingest([file], db, live=True, progress=lately).failed == failures
