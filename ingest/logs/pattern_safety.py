"""Patterns of a user's formats, tested for catastrophic backtracking, in a process with a limit.

Python's `re` backtracks: a nested repeat takes forever on a line that almost matches, and it
cannot be interrupted, so that reading such a log would hang. The lines tried here are built from
the pattern itself and its samples: the text before a repeat, as many repetitions as fit into the
line, and an end that does not match.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from ...schema.errors import BenchError

LONGEST = 4096  # characters of a line that a user's format is tried on
TRIED = 1024  # characters of a line here: a quadratic pattern takes 16 times as long on LONGEST
LINE_S = 0.05  # of processor time for one of them, which takes some microseconds
LIMIT_S = 2  # for all lines of one pattern, after which the process is ended from outside
ENDS = ("\x00", " !", "")
PLAIN = ("0", "a", " ", "1 ", "a ", "|", ": 1 |", "-", ".", "a=1 ")
MOST_LINES = 600
# Each pattern's name is printed before it is tried, so that the one that hangs is known.
CHILD = """
import json, re, resource, sys, time
for name, pattern, lines in json.load(sys.stdin):
    print(name, flush=True)
    tried = re.compile(pattern)
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + {limit_s}, -1))
    for line in lines:
        begun = time.process_time()
        tried.search(line)
        if time.process_time() - begun > {line_s}:
            sys.exit(3)
"""
TOO_SLOW = (3, -signal.SIGXCPU, -signal.SIGKILL)
# What `re` itself reads patterns with. It has no types and is not public: that it makes what is
# expected here, tests/test_hostile_patterns.py proves of every version that runs them.
codes: Any = import_module("re._constants")
parser: Any = import_module("re._parser")
Item = tuple[Any, Any]  # an opcode of a pattern, and its value


def slow_pattern(patterns: Sequence[tuple[str, str, Sequence[str]]]) -> str | None:
    """The name of the first pattern that takes too long on a line, if any.

    `patterns`: name, regular expression and samples of each.
    """
    tried = [(name, text, lines_against(text, samples)) for name, text, samples in patterns]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", CHILD.format(line_s=LINE_S, limit_s=LIMIT_S)],
        input=json.dumps(tried), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    if done.returncode not in TOO_SLOW:
        raise BenchError("patterns cannot be tried", why=done.stderr.strip()[-200:])
    return done.stdout.splitlines()[-1]


def lines_against(pattern: str, samples: Sequence[str]) -> list[str]:
    """Lines on which a pattern backtracks, if on any."""
    made: dict[str, None] = {}
    tree = parser.parse(pattern)
    parts = [_letter(code, value, 1) for code, value in tree]
    whole, places = "".join(parts), range(1, len(parts))
    stops = [n for n in places if tree[n][0] in (codes.MAX_REPEAT, codes.MIN_REPEAT)]
    stops += [n for n in places if tree[n][0] is codes.SUBPATTERN]
    ours = ["".join(parts[:n]) for n in stops]
    fronts = ["", *dict.fromkeys([*ours, *_fronts(pattern, samples)])]
    # A line that begins again and again, and never ends.
    begun = [whole[: len(whole) * part // 4] for part in (2, 3)] + [whole[:-1]]
    repeats = dict.fromkeys(filter(None, [*_repeats(tree), *begun, *PLAIN]))
    for repeat in repeats:
        for front in fronts:
            for end in ENDS:
                many = max(1, (TRIED - len(front) - len(end)) // len(repeat))
                made[front + repeat * many + end] = None
                if len(made) >= MOST_LINES:
                    return list(made)
    return list(made)


def _fronts(pattern: str, samples: Sequence[str]) -> Iterator[str]:
    """The samples up to where each group begins and ends."""
    for sample in samples:
        match = re.search(pattern, sample)
        if match is None:
            continue
        for number in range(match.re.groups + 1):
            for place in match.span(number):
                if place > 0:
                    yield sample[:place]


def _repeats(tree: Sequence[Item]) -> Iterator[str]:
    """Text that the unbounded repeats of a pattern match, once each."""
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            _, most, body = value
            if most > 8:
                yield from filter(None, (_example(body, n) for n in (0, 1)))
        yield from _repeats_below(value)


def _repeats_below(value: Any) -> Iterator[str]:
    if isinstance(value, parser.SubPattern):
        yield from _repeats(value)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _repeats_below(part)


def _example(tree: Sequence[Item], again: int) -> str:
    """A text that matches, or its beginning: the shortest, or one with each repeat once more."""
    return "".join(_letter(code, value, again) for code, value in tree)[:TRIED]


def _letter(code: Any, value: Any, again: int) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.ANY or code is codes.NOT_LITERAL:
        return "a"
    if code is codes.IN:
        return _member(value)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        least, _, body = value
        times: int = min(max(least, again), 8)
        return (_example(body, again) * times)[:TRIED]  # repeats of repeats multiply
    if code is codes.SUBPATTERN:
        return _example(value[-1], again)
    if code is codes.ATOMIC_GROUP:
        return _example(value, again)
    if code is codes.BRANCH:
        return _example(value[1][again % len(value[1])], again)
    return ""


CATEGORIES: dict[Any, str] = {
    codes.CATEGORY_DIGIT: "0",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_SPACE: "a",
}


def _member(value: Sequence[Item]) -> str:
    """A letter of a class."""
    for code, what in value:
        if code is codes.NEGATE:
            break
        if code is codes.LITERAL:
            return chr(what)
        if code is codes.RANGE:
            return chr(what[0])
        if code is codes.CATEGORY:
            return CATEGORIES.get(what, "!")
    negated = {chr(what) for code, what in value if code is codes.LITERAL}
    return next((letter for letter in "a0 -|!" if letter not in negated), "a")
