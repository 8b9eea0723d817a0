"""A long log goes in piece by piece: the same rows, and memory that does not grow."""

import io
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bench.ingest.files.pipeline import ingest
from bench.ingest.logs import bulk
from bench.ingest.logs.dialect import dialects
from bench.ingest.logs.log import LogReader
from bench.schema import spill, store
from bench.schema.opening import open_read
from bench.schema.spill import Spill
from bench.schema.store import Load, Stamps
from bench.schema.warehouse import Warehouse
from tests.making import everything, iteration

PEAK = """
import resource, sys
from pathlib import Path
from bench.ingest.files.pipeline import ingest
ingest([Path(sys.argv[1])], Path(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
TIMERS = "time (ms) | forward-compute: 31.88 | backward-compute: 89.44 | optimizer: 50.66\n"
HEADER = (
    "using world size: 2, data-parallel-size: 2, tensor-model-parallel size: 1, "
    "pipeline-model-parallel size: 1 \n"
)


def long_log(path: Path, steps: int, runs: int = 1) -> Path:
    """A log of so many steps, with what else stands between them."""
    with path.open("w") as file:
        for _ in range(runs):
            file.write(HEADER)
            for number in range(1, steps + 1):
                file.write(iteration(number, of=steps) + TIMERS)
                if number % 50 == 0:
                    file.write(f" validation loss at iteration {number} | lm loss value: 4.7E+00 |"
                               " lm loss PPL: 1.1E+02 | \n")  # fmt: skip
    return path


def test_the_rows_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = long_log(tmp_path / "a.log", 700, runs=2)
    ingest([file], tmp_path / "at_once.duckdb")
    monkeypatch.setattr(bulk, "feed", partial(bulk.feed, block=3000))  # some ten steps
    monkeypatch.setattr(spill, "MEMORY_BYTES", 1 << 10)
    monkeypatch.setattr(store, "_MANY", 10)  # the limit of memory holds too
    monkeypatch.setattr(store, "_LONG", 100)
    summary = ingest([file], tmp_path / "in_pieces.duckdb")
    assert everything(tmp_path / "in_pieces.duckdb") == everything(tmp_path / "at_once.duckdb")
    (count,) = summary.formats.values()
    assert (count.files, count.runs, count.rows) == (1, 2, 1400)


@pytest.mark.parametrize("block", [3000, 5000])
def test_every_line_is_counted_in_whichever_blocks(tmp_path: Path, block: int) -> None:
    content = long_log(tmp_path / "a.log", 700, runs=2).read_bytes()
    reader = LogReader("source", dialects())
    bulk.feed(reader, io.BytesIO(content), block=block)
    assert reader.finish().lines == content.count(b"\n")


TIMES: dict[str, Callable[[random.Random], float]] = {
    "spread": lambda chance: chance.uniform(600, 700),
    "near": lambda chance: chance.uniform(215.00001, 215.00003),
    "few": lambda chance: chance.choice([1.5, 2.5, 99_999.9]),
    "odd": lambda chance: chance.choice([-1, 1, 0]) * 10 ** chance.uniform(-30, 30),
    "tens": lambda chance: 10 ** chance.randrange(9) * chance.choice([1, 0.999999, 1.000001]),
    "waits": lambda chance: chance.uniform(1, 1.01) * chance.choice([1, 1, 1, 10_000]),
}


@pytest.mark.parametrize("count", [3, 103, 2_048])
def test_quantiles_of_long_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Found among values that are about the same, they are those of all values in order."""
    monkeypatch.setattr(store, "_LONG", 1)
    db, values = tmp_path / "bench.duckdb", {}
    for name, draw in TIMES.items():
        chance = random.Random(name)
        values[f"{name}.log"] = [draw(chance) for _ in range(count)]
        lines = [
            f" iteration {n}/ 9999 | elapsed time per iteration (ms): {ms!r} | lm loss: 1.0E+00 |\n"
            for n, ms in enumerate(values[f"{name}.log"], 1)
        ]
        (tmp_path / f"{name}.log").write_text("".join(lines))
    ingest([tmp_path], db)
    with open_read(db) as warehouse:
        query = """SELECT uri, median, p95 FROM run_stats JOIN runs USING (run_id)
                   WHERE metric = 'step_time_s'"""
        found = {uri: [median, p95] for uri, median, p95 in warehouse.rows(query)}
    assert found == {
        uri: pytest.approx(np.percentile(np.array(times[1:]) / 1000, [50, 95]), rel=1e-13)
        for uri, times in values.items()
    }


def test_too_little_memory_is_given_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [long_log(tmp_path / f"{number}.log", 300) for number in range(30)]
    ingest(files, tmp_path / "plenty.duckdb")
    monkeypatch.setattr(store, "_MANY", 10)
    monkeypatch.setattr(store, "_MEMORY_MB", 1)
    requests: list[bool] = []
    once = store._store

    def counted(
        warehouse: Warehouse, loads: Sequence[Load], stamps: Stamps, *, bounded: bool
    ) -> set[str]:
        requests.append(bounded)
        return once(warehouse, loads, stamps, bounded=bounded)

    monkeypatch.setattr(store, "_store", counted)
    ingest(files, tmp_path / "little.duckdb")
    assert requests == [True, False]
    assert everything(tmp_path / "little.duckdb") == everything(tmp_path / "plenty.duckdb")


def test_what_is_put_away_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "MEMORY_BYTES", 100)
    tables = Spill()
    for number in range(40):
        tables.add({
            "timers": pa.table({"line": [number, None]}),
            "events": pa.table({"raw": ["w" * number], "line": [number]}),
        })  # fmt: skip
    tables.add({"timers": pa.table({"iteration": [99]})})  # columns left out are NULL
    assert tables.rows == 121 and tables.has_rows("timers") and not tables.has_rows("memory")
    for _ in range(2):  # as often as it is requested
        found = {name: t if isinstance(t, pa.Table) else t.read_all()
                 for name, t in tables.sources()}  # fmt: skip
        lines = [n for i in range(40) for n in (i, None)]
        assert found["timers"]["line"].to_pylist() == [*lines, None]
        assert found["timers"]["iteration"].to_pylist() == [None] * 80 + [99]
        assert found["events"]["raw"].to_pylist() == ["w" * number for number in range(40)]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    peaks = []
    for steps in (8_000, 40_000):
        file = long_log(tmp_path / f"{steps}.log", steps)
        done = subprocess.run(
            [sys.executable, "-c", PEAK, file, tmp_path / f"{steps}.duckdb"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 90, f"MiB: {peaks}"
