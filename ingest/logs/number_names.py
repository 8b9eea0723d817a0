"""Names of the numbers on a line, and the column of each, as far as names decide."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

from ...vocabulary.dataclass import dataclass
from ...vocabulary.declared import declared
from ...vocabulary.measuring import NUMBER

_NAME = re.compile(r"([A-Za-z][\w/ .()-]*?)[\"']?\s*+(?:[:=(\[]|\bwas\b|\bis\b)?+\s*+[\"']?$")
_NEAR = 200  # characters before a number: the longest name
_RANK = re.compile(r"^(?:rank|gpu|node|worker)\d+\s+", re.I)
_FILLERS = re.compile(r"^(?:(?:at|after|in|the|is|of|and)\s+)+")
_UNIT = re.compile(r"\s?([A-Za-zµ%]+(?:/[A-Za-z]+){0,2})(?![\w/])")
_SUFFIX = re.compile(r"[KMGBT](?![A-Za-z])")
_SHIFTS = {"ms": -3, "msec": -3, "us": -6, "µs": -6}
_SECONDS = frozenset(("", "s", "sec", "secs", "second", "seconds"))
_LONG = {
    "min": "minutes", "mins": "minutes", "minutes": "minutes",
    "h": "hours", "hr": "hours", "hrs": "hours", "hours": "hours",
}  # fmt: skip
_PLAIN_UNITS = frozenset((*_SHIFTS, *_SECONDS, *_LONG, "gb", "gib", "mb", "mib", "%"))
_SHORTENED = {"bigint": "count", "integer": "count", "double": "human"}
_RISING = 4  # lines needed to distinguish a clock from a duration


@dataclass(frozen=True, slots=True)
class Number:
    """One number on a line: its place, its group in the pattern, and its column."""

    place: int  # among the numbers of the line
    start: int
    end: int
    group: str
    column: str
    type: str = "varchar"
    shift: int = 0


def numbers_of(lines: Sequence[str]) -> list[Number]:
    """The named numbers of the first line, each name once; later lines show which of them grow.

    A time that only grows is a clock; of several counts the step is one that never restarts.
    """
    line = lines[0]
    found: list[Number] = []
    end = 0
    for place, match in enumerate(NUMBER.finditer(line)):
        number = _number(line, end, place, match, found)
        end = match.end()
        if number:
            found.append(number)
    values = _columns(lines)
    found = [kept(n) if n.column == "step_time_s" and _rises(values, n, 2) else n for n in found]
    found = [n if n.column != "iteration" or _is_whole(values, n) else kept(n) for n in found]
    steps = [n for n in found if n.column == "iteration"]
    rising = [n for n in steps if _rises(values, n)] or steps
    step = min(rising, key=lambda n: _is_other_than_step(line, n), default=None)
    found = [kept(n) if n.column == "iteration" and n is not step else n for n in found]
    losses = [n for n in found if n.column == "loss"]
    loss = min(losses, key=lambda n: _is_plain_loss(line, n), default=None)
    found = [kept(n) if n.column == "loss" and n is not loss else n for n in found]
    return list({n.group: n for n in reversed(found)}.values())[::-1]


def _is_other_than_step(line: str, number: Number) -> tuple[bool, int]:
    """Whether a count has another name than `step`: next to a step, it may count micro-batches.

    Of other names the longest is preferred: `num_updates` is a count, `update` may be within one.
    """
    name = plain(name_before(line[: number.start], False))
    return not name.endswith("step"), -len(name)


def _is_plain_loss(line: str, number: Number) -> bool:
    """Whether a loss is just named `loss`: another name may be that of a running mean."""
    return plain(name_before(line[: number.start], False)) == "loss"


def _number(
    line: str, end: int, place: int, match: re.Match[str], earlier: Sequence[Number]
) -> Number | None:
    before, start, stop = line[end : match.start()], match.start(), match.end()
    if before.strip() == "/" and earlier and earlier[-1].column == "iteration":
        return Number(place, start, stop, "train_iters", "train_iters", "bigint")
    if re.match(r"[:,]\d", line[stop:]) or re.search(r"\d:$", line[:start]):
        return None  # a clock, or a decimal comma
    suffix = _SUFFIX.match(line, stop)
    stop = suffix.end() if suffix else stop
    behind = _UNIT.match(line, stop)
    unit = behind[1].casefold() if behind and not suffix else ""
    own = _units().get(unit)
    name = name_before(before, bool(end))
    word = own or _words().get("step" if _is_batch(name, line[stop:]) else plain(name))
    if word is None:
        group = re.sub(r"\W+", "_", name.casefold()).strip("_")[:40]
        return Number(place, start, stop, group, f"more.{group}") if group else None
    column, kind, assumed = word
    kind = _SHORTENED.get(kind, kind) if suffix else kind
    number = Number(place, start, stop, column, column, kind)
    if not assumed:
        return number
    unit_alone = unit.partition("/")[0]
    if long := _LONG.get(unit_alone) or _long_in(name):
        return replace(number, type=long)
    return replace(number, shift=_shift(name, unit_alone))


def _is_batch(name: str, behind: str) -> bool:
    """Whether a number is the current batch of a total: `batch 3/500`."""
    return plain(name) == "batch" and re.match(r"\s?/\s?\d", behind) is not None


def name_before(before: str, after_number: bool) -> str:
    """The words right in front of a number, without the unit of the number before them."""
    unit = _UNIT.match(before) if after_number else None
    known = unit and (unit[1].casefold() in _PLAIN_UNITS or unit[1].casefold() in _units())
    text = before[unit.end() :] if unit and known else before
    if text.rstrip().endswith("/"):
        return ""  # `11it/18it`: a total
    named = _NAME.search(re.split(r"[|;,]", text[-_NEAR:])[-1])
    return _RANK.sub("", _FILLERS.sub("", named[1].strip())) if named else ""


def plain(name: str) -> str:
    """The letters of a name, in lower case."""
    return re.sub(r"[^a-z]", "", name.casefold())


def _shift(name: str, unit: str) -> int:
    """Powers of ten to seconds, by the unit after the number or in its name."""
    if unit in _SHIFTS:
        return _SHIFTS[unit]
    inside = re.search(r"(?:\(|_|\b)(ms|msec|us|µs)(?:\)|_per_\w+|\b)", name.casefold())
    return _SHIFTS[inside[1]] if inside else 0


def _long_in(name: str) -> str | None:
    """Minutes or hours, if the name of a time ends with them: time (min), elapsed_minutes."""
    inside = re.search(r"(?:\(|_|\s)(mins?|minutes|hrs?|hours)\)?$", name.casefold().rstrip(" :="))
    return _LONG[inside[1]] if inside else None


def kept(number: Number) -> Number:
    """The number as printed, as a member of `more`."""
    name = {"step_time_s": "time", "iteration": "step"}.get(number.column, number.column)
    group = f"{name}_{number.place}"
    return replace(number, group=group, column=f"more.{name}", type="varchar", shift=0)


def _columns(lines: Sequence[str]) -> list[list[float]]:
    """The numbers of all lines by their place; lines of one shape have as many."""
    rows = [[m[0].replace(",", "") for m in NUMBER.finditer(line)] for line in lines]
    width = min(map(len, rows))
    return [[_float(row[place]) for row in rows] for place in range(width)]


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _is_whole(values: Sequence[Sequence[float]], number: Number) -> bool:
    """Whether a number is an integer on every line: a fractional epoch is no step."""
    own = values[number.place] if number.place < len(values) else []
    return all(value.is_integer() for value in own if value == value)


def _rises(values: Sequence[Sequence[float]], number: Number, times: float = 1) -> bool:
    """Whether a number always grows, to at least `times` its first value."""
    own = values[number.place] if number.place < len(values) else []
    grows = len(own) >= _RISING and all(a < b for a, b in pairwise(own))
    return grows and own[-1] >= times * own[0]


@cache
def _file() -> Sequence[Mapping[str, object]]:
    found = declared(__package__ or "bench.ingest.logs", "number_words.toml")
    words: list[dict[str, object]] = found["word"]
    return words


Word = tuple[str, str, bool]  # column, type, whether it is a time


def _by(key: str) -> dict[str, Word]:
    words: dict[str, Word] = {}
    for word in _file():
        listed = word.get(key, [])
        assert isinstance(listed, list)
        for name in listed:
            words[name] = str(word["column"]), str(word["type"]), "unit" in word
    return words


@cache
def _words() -> dict[str, Word]:
    return _by("names")


@cache
def _units() -> dict[str, Word]:
    return _by("units")
