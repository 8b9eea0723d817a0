"""Logs for the two ways of reading, line by line and in blocks, and what both give of them."""

from __future__ import annotations

import io
import random
import re
from pathlib import Path

import pytest
from hypothesis import strategies as st

from bench.ingest.logs import bulk, line_shapes, scan
from bench.ingest.logs.dialect import Dialect, dialects
from bench.ingest.logs.line_shapes import shapes_of
from bench.ingest.logs.lines import declared_prefixes, read_lines
from bench.ingest.logs.log import LogReader
from bench.ingest.logs.log_result import LogResult
from bench.schema.arrow import to_arrow

ROOT = Path(__file__).parents[1]
OUTSIDE = ROOT.parent / "shared" / "logs"
FOLDERS = (ROOT / "data" / "logs", OUTSIDE)
LOGS = sorted(
    file
    for folder in FOLDERS
    for file in folder.rglob("*")
    if file.suffix in (".log", ".out", ".err", ".txt") and file.stat().st_size < 2 << 20
)
STEPS = [(d, s.line) for d in dialects() if d.reads == "iteration" for s in d.samples]
SAMPLES = [sample.line for dialect in dialects() for sample in dialect.samples]
TIMERS = [s.line for d in dialects() if d.reads == "timers" for s in d.samples]
BELOW = ["time (ms) | forward-compute: 31.88 | optimizer: 50.66", *TIMERS]
CHANCES = st.randoms(use_true_random=False)
PREFIXES = ["", "", "", *(str(s["line"])[: -len(str(s["text"]))] for p in declared_prefixes()
                          for s in p["sample"] if s["text"])]  # type: ignore[attr-defined]  # fmt: skip
NOISE = [
    "", "   ", "-----", "=== *** ===", "[default0]: ", "node-7:11:22 [0] NCCL INFO Channel 00/02",
    "| a | b |", "some words", "iteration | of nothing", "5: ", "x - INFO - ", "[rank0]:", "\t~~~",
    "  0%|   | 0/10\r 50%|#  | 5/10\r", "\x1b[31mred\x1b[0m", "a\0b", "caf\u00e9", "\x1c",
    "Traceback (most recent call last):", "a: b: c", "loss = 3 | x", "\u2028", "1/2 ",
    "n7:11:22 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 20.", "[3] NCCL INFO comm 0x7f",
    "/opt/torch/graph.py:75: UserWarning: tensor 12 is not contiguous in memory",
    "  warnings.warn(f'rank 3: buffer 17 of 99')", '  File "/opt/model.py", line 75, in forward',
    "ValueError: step 3 of 4", "[2024-05-01 10:00:00,123] [INFO] [x.py:1:f] ---",
    "2024-05-01 10:00:00,123 - root - INFO - ----", "1024-05-01 10:00:00,123 - root - INFO - ----",
    "w-0: [2022-10-29] training ...", "w-0: [1022-10-29] time 3",
    "[NeMo I 2025-03-07 22:33:59 b:4]",
    "export NCCL_DEBUG=INFO", "MASTER_PORT=6000", "SLURM_NNODES=16", "+ export OMP_NUM_THREADS=12",
    "c10::CUDAError", "c47::CUDAError", "Caught signal 11", "Caught signal 12", "return code = -9",
    "a 12.5 NCCL INFO [1] NCCL INFO done with setup ...", "> initializing torch distributed ...",
    "[rank1]: step of the allocator 12: 3 blocks kept", "12%|##  | 1/8 [00:01<00:07, 1.2it/s]",
]  # fmt: skip


def by_line(content: bytes, formats: Path | None = None) -> LogResult:
    reader = LogReader("source", dialects(formats))
    for line in read_lines(io.BytesIO(content)):
        reader.feed(line)
    return reader.finish()


def in_blocks(
    content: bytes, block: int, *, few: bool = True, least: int = 4, formats: Path | None = None
) -> LogResult:
    """Read in blocks; where masks are not taken for `few`, they are looked at as thousands are.

    So many lines of one mask are read in columns.
    """
    reader = LogReader("source", dialects(formats))
    shapes_of.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "FEW", least)
        if not few:
            patch.setattr(line_shapes, "FEW_MASKS", 0)
        bulk.feed(reader, io.BytesIO(content), block=block)
    return reader.finish()


def all_of(read: LogResult) -> dict[str, object]:
    counts = (read.lines, read.lines_read, read.lines_known, read.lines_unread,
              read.lines_measuring, read.encoding_errors, dict(read.formats))  # fmt: skip
    tables = {name: sorted(map(told, t.to_pylist())) for name, t in to_arrow(read.rows).items()}
    return tables | {"counts": counts}


def told(row: dict[str, object]) -> str:
    """A row; a column that is left out is NULL."""
    return repr({name: value for name, value in row.items() if value is not None})


def numbered(dialect: Dialect, line: str, number: int) -> str:
    """A sample line as that of another step."""
    found = re.search(r"(?i)(?:iteration|step|iter)\D{1,12}(\d+)", line)
    if found is None:
        return line
    other = line[: found.start(1)] + str(number) + line[found.end(1) :]
    # Other digits in other places, as a log has them.
    places = [m.start() for m in re.finditer(r"(?<=\.\d)\d", other)]
    for place in places:
        other = other[:place] + str((number * 7 + place) % 10) + other[place + 1 :]
    return other


def with_digits(chance: random.Random, line: str) -> str:
    """A line with other digits, some numbers of them longer."""
    other = re.sub(r"[0-9]", lambda _: chance.choice("0123456789"), line)
    return re.sub(r"(?<=: )(?=[0-9])", lambda _: chance.choice(["", "", "1", "27"]), other)


@st.composite
def stretches(draw: st.DrawFn) -> list[str]:
    """Steps of one format, some damaged, with other lines between them."""
    dialect, line = draw(st.sampled_from(STEPS))
    prefix = draw(st.sampled_from(PREFIXES))
    start, count = draw(st.integers(0, 60)), draw(st.integers(1, 60))
    every = draw(st.integers(1, 3))
    lines = [prefix + numbered(dialect, line, start + every * n) for n in range(count)]
    below, chance = draw(st.sampled_from([None, None, *BELOW])), draw(CHANCES)
    if below is not None:
        lines = [each for one in lines for each in (one, with_digits(chance, below))]
    count = len(lines)
    for place in draw(st.lists(st.integers(0, count - 1), max_size=3)):
        lines[place] = draw(damages(lines[place]))
    for place in draw(st.lists(st.integers(0, count), max_size=6)):
        lines.insert(place, draw(st.sampled_from(NOISE)))
    return lines


@st.composite
def noises(draw: st.DrawFn) -> list[str]:
    """Lines of one kind that differ in their digits, behind what launchers print, some glued."""
    line = draw(st.sampled_from(PREFIXES)) + draw(st.sampled_from([*NOISE, *SAMPLES]))
    chance = draw(CHANCES)
    lines = [with_digits(chance, line) for _ in range(12)]
    if draw(st.booleans()):
        lines[3] += draw(st.sampled_from(NOISE)) + lines[4]
    lines[draw(st.integers(0, 11))] = line
    return lines


@st.composite
def damages(draw: st.DrawFn, line: str) -> str:
    """A line with something wrong with it."""
    place = draw(st.integers(0, max(len(line) - 1, 0)))
    how = draw(st.integers(0, 6))
    if how == 0:
        return line[:place]
    if how == 1:
        return line[:place] + draw(st.sampled_from(" x|:9\r,")) + line[place:]
    if how == 2:
        return line + " " + line
    if how == 3:
        return re.sub(r"\d\.\d+E[+-]\d+", "nan", line)
    if how == 4:
        return line[:place] + "\n" + line[place:]
    if how == 5:
        return re.sub(r": +(\d+)\.", r": 1,\1.", line)
    return line.replace(" | ", " |  ", 1)


LINES = st.one_of(
    stretches(),
    noises(),
    st.lists(st.sampled_from(SAMPLES), max_size=4),
    st.lists(st.sampled_from(NOISE), max_size=4),
)
