"""A log read in blocks gives what reading it line by line gives, whatever stands in it."""

from __future__ import annotations

import io
import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bench.ingest.logs import blocks
from bench.ingest.logs.dialect import Dialect, dialects
from bench.ingest.logs.lines import PIECE_LIMIT, declared_prefixes, peel
from bench.ingest.logs.masks import (
    any_digits,
    is_digit_blind,
    is_digit_sensitive,
    mask_digits,
    may_read,
)
from tests.reading import (
    LINES,
    LOGS,
    PREFIXES,
    SAMPLES,
    STEPS,
    all_of,
    by_line,
    in_blocks,
    numbered,
    with_digits,
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
    careful = all_of(by_line(content))
    for few in (True, False):
        assert all_of(in_blocks(content, 20_000, few=few)) == careful


def test_pieces_of_many_short_lines() -> None:
    content = 700 * b"\n" + 90 * b"a longer one\n" + 1700 * b"\n" + b"the end"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MOST_LINES", 100)
        pieces = blocks.Pieces(io.BytesIO(content), 1 << 20, first=True)
        found = list(iter(pieces.next, None))
    whole = [piece.whole for piece in found if piece.whole is not None]
    assert max(one.count(b"\n") for one in whole) < 100
    assert b"\n".join([*whole, found[-1].rest]) == content


ARGUMENTS = """\
 > using world size: 8, data-parallel-size: 2, tensor-model-parallel size: 2
------------------------ arguments ------------------------
  hidden_size ..................................... 4096
  save .......................................... /ckpt/2024-05-06/7
  save .......................................... /ckpt/2024-05-06/8
  wandb_api_key ................................... 0123456789abcdef
  hidden_size ..................................... 4096
  hidden_size ..................................... 4097
0:   num_layers ...................................... 32
[2024-05-06 07:08:09,123] [INFO] [launch.py:1:main]   seed .............................. 1234
  async_io  seq_length .................................. 2048
  use_distributed_optimizer_everywhere  True
/opt/torch/graph.py:31: UserWarning: tensor 7 is not contiguous in memory
  iteration | of nothing
  empty ...........................................
  last ............................................ 1-------------------- end of arguments
  glued ........................................... 12  other ............. 13
-------------------- end of arguments ---------------------
  hidden_size ..................................... 1
[deepspeed] {'a': 1}
""".splitlines()


@pytest.mark.parametrize("block", [60, 400, 1 << 20])
@pytest.mark.parametrize("seed", range(4))
def test_arguments(block: int, seed: int) -> None:
    """Those of a block are taken at once, with all that other processes print between them."""
    lines = [*ARGUMENTS, *ARGUMENTS[:9]]
    if seed:
        random.Random(seed).shuffle(lines)
    content = "\n".join(lines).encode()
    assert all_of(in_blocks(content, block)) == all_of(by_line(content))


def test_steps_after_a_start_that_tells_of_another_interval() -> None:
    """Of a log that prints each tenth step and the first one of each start."""
    steps = [1, *range(10, 401, 10)], [401, *range(410, 801, 10)]
    start = [f"{24 * '-'} arguments {24 * '-'}", f"  log_interval {36 * '.'} 10",
             f"{20 * '-'} end of arguments {21 * '-'}"]  # fmt: skip
    parts = [[*start, *(STEP.format(n=n, s=n % 60) for n in part)]
             for part in steps]  # fmt: skip
    content = "\n".join(line for part in parts for line in part).encode()
    careful = all_of(by_line(content))
    for few in (True, False):
        assert all_of(in_blocks(content, 1 << 20, few=few)) == careful


def test_many_short_lines_and_a_long_one() -> None:
    """Lines of a piece are not more than memory holds; the long one is read from the stream."""
    lines = [STEP.format(n=n, s=n % 60) for n in range(1, 40)]
    content = "\n".join([*lines[:20], 3000 * "\n", 3 * PIECE_LIMIT * "x", 900 * "\n", *lines[20:]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MOST_LINES", 100)
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
    careful = all_of(by_line(content))
    for block in (1000, 30_000, 1 << 23):
        assert all_of(in_blocks(content, block, few=block < 1 << 23)) == careful


@pytest.mark.parametrize("prefix", sorted(set(PREFIXES)))
def test_lines_that_are_blank_behind_a_prefix(prefix: str) -> None:
    lines = [with_digits(random.Random(number), prefix) for number in range(12)]
    content = "\n".join([prefix, *lines]).encode()
    careful = all_of(by_line(content))
    for few in (True, False):
        assert all_of(in_blocks(content, 1 << 20, few=few)) == careful


ASCII = st.characters(min_codepoint=32, max_codepoint=126)
BEFORE = [st.from_regex(re.compile(str(prefix["pattern"])), fullmatch=True, alphabet=ASCII)
          for prefix in declared_prefixes()]  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.one_of(BEFORE), st.sampled_from(["", "-", "=== *"])), min_size=1))
@example([("2024-05-01 12:00:00,123 ", "-"), ("2024-05-01 12:00:00 INFO ", "")])
@example([("2024-05-01T12:00:00.5Z stdout F ", ""), ("2024-05-01T12:00:00Z ", "---")])
def test_nothing_behind_what_launchers_print(lines: list[tuple[str, str]]) -> None:
    content = "\n".join(before + rule for before, rule in lines).encode()
    careful = all_of(by_line(content))
    for few in (True, False):
        assert all_of(in_blocks(content, 1 << 20, few=few)) == careful


def test_prefixes_tell_no_digits_but_years() -> None:
    patterns = [str(prefix["pattern"]).replace(r"20\d\d-", "") for prefix in declared_prefixes()]
    assert not [pattern for pattern in patterns if is_digit_sensitive(pattern)]
    assert all(
        map(
            is_digit_sensitive,
            ["a1", r"[3-7]", r"(a)\1", "(?P<x>a)(?P=x)", "0-9", r"\[0-9]", r"\N{DIGIT SEVEN}"],
        )
    )
    assert not any(map(is_digit_sensitive, [r"\d{1,3}", "[0-9a-f]+", "x{2}"]))


@pytest.mark.parametrize("seed", range(3))
def test_a_mask_tells_who_reads_none_of_its_lines(seed: int) -> None:
    """Formats that distinguish digits are tried only where one of the lines may be theirs."""
    chance = random.Random(seed)
    sighted = [dialect for dialect in dialects() if not is_digit_blind(dialect)]
    lines = [peel(with_digits(chance, line) if seed else line)[1] for line in SAMPLES]
    for dialect in sighted:
        assert all(may_read(dialect, mask_digits(x)) for x in lines if dialect.read(x))
    listing = next(dialect for dialect in sighted if dialect.name == "env_listing")
    assert may_read(listing, "FP0=0")
    assert not may_read(listing, "lr = 0.0e-0")


@pytest.mark.parametrize(
    ("pattern", "line"),
    [(r"a[1-3]{2}$", "a00"), (r"(\d)\1", ""), (r"(?!1)\d", ""), (r"[^4]x", ""), (r"[^0-9]2", "a0")],
)
def test_patterns_that_take_any_digit(pattern: str, line: str) -> None:
    loose = any_digits(re.compile(pattern))
    assert (loose is not None and loose.search(line) is not None) == bool(line)
