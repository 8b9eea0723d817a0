"""A log read in blocks gives what reading it line by line gives, whatever stands in it."""

from __future__ import annotations

import io
import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bench.ingest import aligned, bulk, outline, scan, stream
from bench.ingest.dialect import Dialect, dialects
from bench.ingest.lines import PIECE_LIMIT, declared_prefixes, read_lines
from bench.ingest.log import LogReader
from bench.ingest.logread import LogRead
from bench.ingest.outline import outlines_of, wants_digits
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


def by_line(content: bytes, formats: Path | None = None) -> LogRead:
    reader = LogReader("source", dialects(formats))
    for line in read_lines(io.BytesIO(content)):
        reader.feed(line)
    return reader.finish()


def in_blocks(
    content: bytes, block: int, *, few: bool = True, least: int = 100, formats: Path | None = None
) -> LogRead:
    """Read in blocks; where lines are not taken for `few`, they are looked at as thousands are.

    So many lines of one length are read in columns.
    """
    reader = LogReader("source", dialects(formats))
    outlines_of.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aligned, "MANY_ALIKE", least)
        if not few:
            patch.setattr(outline, "FEW_OUTLINES", 0)
            patch.setattr(scan, "WORTH_CUTTING", 1)
        bulk.feed(reader, io.BytesIO(content), block=block)
    return reader.finish()


def all_of(read: LogRead) -> dict[str, object]:
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


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(LINES, min_size=1, max_size=6), st.sampled_from([700, 6000, 1 << 23]),
       st.sampled_from([b"\n", b"\n", b"\r\n"]), st.binary(max_size=3), st.booleans(),
       st.sampled_from([2, 100]))  # fmt: skip
def test_any_log_in_blocks(
    parts: list[list[str]], block: int, end: bytes, tail: bytes, few: bool, least: int
) -> None:
    content = end.join(line.encode() for part in parts for line in part) + tail
    found = in_blocks(content, block, few=few, least=least)
    assert all_of(found) == all_of(by_line(content))


@pytest.mark.parametrize(("dialect", "line"), STEPS, ids=lambda x: getattr(x, "name", ""))
def test_steps_of_every_format(dialect: Dialect, line: str) -> None:
    lines = [numbered(dialect, line, number) for number in range(3, 90)]
    content = "\n".join(lines).encode()
    assert all_of(in_blocks(content, 1 << 20)) == all_of(by_line(content))


@pytest.mark.parametrize(("dialect", "line"), STEPS, ids=lambda x: getattr(x, "name", ""))
def test_many_steps_of_every_format(dialect: Dialect, line: str) -> None:
    """So many that those of one length are read in columns, some of them longer or damaged."""
    chance = random.Random(line)
    lines = [numbered(dialect, line, number) for number in range(3, 400)]
    for place in range(150, 390):
        if chance.random() < 0.1:
            lines[place] = with_digits(chance, lines[place])
    content = "\n".join(lines).encode()
    assert all_of(in_blocks(content, 50_000)) == all_of(by_line(content))


STEP = (
    " [2024-01-01 00:00:{s:02d}] iteration {n:8d}/   10000 | consumed samples: {n:12d} |"
    " consumed tokens: {n:19d} | elapsed time per iteration (ms): 500.0 | lm loss: 1.258695E+01 |"
    " mtp_1 loss: 1.234500E+00 | number of skipped iterations:   0 |"
)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("2024-01-01", "0000-01-01"), ("2024-01-01", "2023-02-29"), ("00:00:", "24:00:"),
        ("mtp_1 loss: 1.234500E+00", "mtp_1 loss: 2147483648.0"),
        ("mtp_1 loss: 1.234500E+00", "mtp_1 loss: 12.34500E+00"),
        ("mtp_1 loss: 1.234500E+00", "mtp_1 loss: 1.2345000000"),
        ("mtp_1 loss: 1.234500E+00", "mtp_1 loss: 1.23456789012345678E+00"),
        ("mtp_1 loss: 1.234500E+00", "mtp_1 loss: 1.2345678901234567890123E+00"),
        ("mtp_1 loss", "moe_loss"),
        ("500.0 ", "500.0\r"), ("500.0 ", "500.0\x1c"), ("500.0 ", "500.0\t"),
        ("tokens:" + 17 * " ", "tokens: 9223372036854775"),
        ("tokens:" + 17 * " ", "tokens: 9223372036854776"),
        ("tokens:" + 17 * " ", "tokens: -922337203685477"),
    ],
)  # fmt: skip
def test_steps_with_what_is_not_plainly_a_number(text: str, other: str) -> None:
    lines = [STEP.format(n=n, s=n % 60) for n in range(1, 400)]
    for place in (*range(150, 280), *range(290, 340, 2)):
        lines[place] = lines[place].replace(text, other)
    assert other in lines[150]
    content = "\n".join([*lines, *lines[300:320]]).encode()
    for few in (True, False):
        assert all_of(in_blocks(content, 20_000, few=few)) == all_of(by_line(content))


def test_pieces_of_many_short_lines() -> None:
    content = 700 * b"\n" + 90 * b"a longer one\n" + 1700 * b"\n" + b"the end"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "MOST", 100)
        pieces = stream.Pieces(io.BytesIO(content), 1 << 20, first=True)
        found = list(iter(pieces.next, None))
    whole = [piece.whole for piece in found if piece.whole is not None]
    assert max(one.count(b"\n") for one in whole) < 100
    assert b"\n".join([*whole, found[-1].rest]) == content


def test_steps_after_a_start_that_tells_of_another_interval() -> None:
    """Of a log that prints each tenth step and the first one of each start."""
    steps = [1, *range(10, 401, 10)], [401, *range(410, 801, 10)]
    start = [f"{24 * '-'} arguments {24 * '-'}", f"  log_interval {36 * '.'} 10",
             f"{20 * '-'} end of arguments {21 * '-'}"]  # fmt: skip
    parts = [[*start, *(STEP.format(n=n, s=n % 60) for n in part)]
             for part in steps]  # fmt: skip
    content = "\n".join(line for part in parts for line in part).encode()
    for few in (True, False):
        assert all_of(in_blocks(content, 1 << 20, few=few)) == all_of(by_line(content))


def test_many_short_lines_and_a_long_one() -> None:
    """Lines of a piece are not more than memory holds; the long one is read from the stream."""
    lines = [STEP.format(n=n, s=n % 60) for n in range(1, 40)]
    content = "\n".join([*lines[:20], 3000 * "\n", 3 * PIECE_LIMIT * "x", 900 * "\n", *lines[20:]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "MOST", 100)
        found = in_blocks(content.encode(), 1 << 20)
    assert all_of(found) == all_of(by_line(content.encode()))


STEP_FORMAT = """
title = "steps of a trainer of one's own"
url = "https://example.org/x"
reads = "iteration"
framework = "MyTrainer"
hint = "mystep"
anchor = '''{anchor}'''
[groups]
iteration = {{ type = "bigint" }}
[keys]
"time (ms)" = {{ column = "step_time_s", type = "double", shift = -3, unit = "ms" }}
loss = {{ column = "loss", type = "double" }}
[[sample]]
line = "mystep 10 / | time (ms): 512.4 | loss: 2.31 |"
source = "x"
row = {{ iteration = 10, step_time_s = 0.5124, loss = 2.31 }}
"""
TIMERS_FORMAT = """
title = "timers of one's own"
url = "https://example.org/x"
reads = "timers"
hint = "mytimers"
anchor = '''mytimers \\|'''
pair = '''\\s*(?P<key>[a-z]+): (?P<value>{value}) \\|'''
[[sample]]
line = "mytimers | fwd: 10.5 | bwd: 20.5 |"
source = "x"
row = {{ values = {{ fwd = 10.5, bwd = 20.5 }} }}
"""


@pytest.mark.parametrize(
    ("anchor", "value"),
    [
        (r"mystep +(?P<iteration>\d+) */ *\|", r"\d+\.\d+"),
        (r"mystep {0,8}(?P<iteration>\d+) */ *\|", r"[1-9]\d*\.\d+"),
        (r"mystep +(?P<iteration>\d{1,3}) */ *\|", r"\d\d?\.\d+"),
        (r"mystep +(?P<iteration>[1-9]\d*) */ *\|", r"[0-3]\d?\.\d"),
        (r"^mystep (?P<iteration>\d+) {1,3}/ \|", r"\d+\.\d+"),
    ],
)
def test_own_formats_that_tell_numbers_or_blanks_apart(
    tmp_path: Path, anchor: str, value: str
) -> None:
    """A line of the same words is not of the format where its numbers or blanks are not."""
    (tmp_path / "steps.toml").write_text(STEP_FORMAT.format(anchor=anchor))
    (tmp_path / "timers.toml").write_text(TIMERS_FORMAT.format(value=value))
    lines = []
    for n in range(80, 1200, 4):
        blanks = [(1, 1, 1), (4, 3, 1), (12, 5, 4)][n // 4 % 3 if n > 200 else 0]
        step, behind, last = (count * " " for count in blanks)
        lines.append(f"mystep{step}{n}{behind}/{last}| time (ms): {n}.4 | loss: 2.{n % 90 + 10} |")
        lines.append(f"mytimers | fwd: {n % 3}.5 | bwd: {n}.5 |")
    content = "\n".join(lines).encode()
    careful = all_of(by_line(content, tmp_path))
    for few in (True, False):
        assert all_of(in_blocks(content, 5000, few=few, formats=tmp_path)) == careful


@pytest.mark.parametrize("file", LOGS, ids=lambda file: file.name)
def test_logs(file: Path) -> None:
    content = file.read_bytes()
    for block in (1000, 30_000, 1 << 23):
        assert all_of(in_blocks(content, block, few=block < 1 << 23)) == all_of(by_line(content))


@pytest.mark.parametrize("prefix", sorted(set(PREFIXES)))
def test_lines_that_are_blank_behind_a_prefix(prefix: str) -> None:
    lines = [with_digits(random.Random(number), prefix) for number in range(12)]
    content = "\n".join([prefix, *lines]).encode()
    for few in (True, False):
        assert all_of(in_blocks(content, 1 << 20, few=few)) == all_of(by_line(content))


ASCII = st.characters(min_codepoint=32, max_codepoint=126)
BEFORE = [st.from_regex(re.compile(str(prefix["pattern"])), fullmatch=True, alphabet=ASCII)
          for prefix in declared_prefixes()]  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.one_of(BEFORE), st.sampled_from(["", "-", "=== *"])), min_size=1))
@example([("2024-05-01 12:00:00,123 ", "-"), ("2024-05-01 12:00:00 INFO ", "")])
@example([("2024-05-01T12:00:00.5Z stdout F ", ""), ("2024-05-01T12:00:00Z ", "---")])
def test_nothing_behind_what_launchers_print(lines: list[tuple[str, str]]) -> None:
    content = "\n".join(before + rule for before, rule in lines).encode()
    for few in (True, False):
        assert all_of(in_blocks(content, 1 << 20, few=few)) == all_of(by_line(content))


def test_prefixes_tell_no_digits_but_years() -> None:
    patterns = [str(prefix["pattern"]).replace(r"20\d\d-", "") for prefix in declared_prefixes()]
    assert not [pattern for pattern in patterns if wants_digits(pattern)]
    assert all(
        map(
            wants_digits,
            ["a1", r"[3-7]", r"(a)\1", "(?P<x>a)(?P=x)", "0-9", r"\[0-9]", r"\N{DIGIT SEVEN}"],
        )
    )
    assert not any(map(wants_digits, [r"\d{1,3}", "[0-9a-f]+", "x{2}"]))
