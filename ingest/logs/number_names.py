"""Names of the numbers on a line, and the column of each, as far as names decide."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from ...vocabulary.measurement_lines import NUMBER
from ...vocabulary.package_toml import declared
from ...vocabulary.secret_form import is_opaque
from .number_series import grows, is_whole, rises, series_of

_NAME = re.compile(
    r"([A-Za-z][\w/ .()-]*?)[\"']?\s*+(?:[:=]\s?[(\[]|[:=(\[]|\bwas\b|\bis\b)?+\s*+[\"']?$"
)
_OPENS_LIST = re.compile(r"[:=]\s?[(\[]$")
_NEAR = 200  # characters before a number: the longest name
_RANK = re.compile(r"^(?:rank|gpu|node|worker)\d+\s+", re.I)
_FILLERS = re.compile(r"^(?:(?:at|after|in|the|is|of|and)\s+)+")
_UNIT = re.compile(r"\s?([A-Za-zµ%]+(?:/[A-Za-z]+){0,2})(?![\w/])(?!\s?[=:])")
_SUFFIX = re.compile(r"[kKMGBT](?![A-Za-z/])")
# `[29/300][2670/2859]`: the second count is within one of the first
_IN_TOTAL = re.compile(r"\d/\d{1,9}[\])] ?[\[(]$")
_TOTAL = re.compile(r"\s?/\s?\d++(?!/| \d\d?:\d)")
_WORD = re.compile(r"(?i)nan (?:iterations|steps|gradients|values)\b")  # and no number
_IN_UNIT = re.compile(r"[ _(]{1,3}(?:ms|msecs?|s|secs?|seconds|us)\)?$", re.I)
_END = re.compile(r"\s*(?:[|,;)\]]|$)")
_RATE = re.compile(r"/ ?s(?:ec|econds?)?\b|(?<=tok)_s\b|(?<=tokens)_s\b|(?<=samples)_s\b", re.I)
_SHIFTS = {"ms": -3, "msec": -3, "us": -6, "µs": -6}
_SECONDS = frozenset(("", "s", "sec", "secs", "second", "seconds"))
_LONG = {
    "min": "minutes", "mins": "minutes", "minutes": "minutes",
    "h": "hours", "hr": "hours", "hrs": "hours", "hours": "hours",
}  # fmt: skip
_PLAIN_UNITS = frozenset((*_SHIFTS, *_SECONDS, *_LONG, "gb", "gib", "mb", "mib", "%"))
_SHORTENED = {"bigint": "count", "integer": "count", "double": "human"}
OF_TOTAL, LEADING = "#/", "#"  # counts without a name
UNNAMED = frozenset((OF_TOTAL, LEADING))
_OF_TRAINING = frozenset(("train", "training"))
_MEANS = frozenset(("avg", "average", "mean", "running", "smooth", "smoothed", "ema"))
_MOST_WORDS = 12  # of a name


class Word(NamedTuple):
    """What a word says of a number."""

    column: str
    type: str
    has_unit: bool  # it is a time
    is_vague: bool  # it has other meanings as well


@dataclass(frozen=True, slots=True)
class Number:
    """One number on a line: its place, its group in the pattern, and its column.

    `name` is the word that identifies it, in small letters; empty for a number without one.
    `is_vague`: the word has other meanings as well.
    """

    place: int  # among the numbers of the line
    start: int
    end: int
    group: str
    column: str
    type: str = "varchar"
    shift: int = 0
    name: str = ""
    is_vague: bool = False


def numbers_on(line: str) -> list[Number]:
    """The numbers of a line that have a name, or a unit that is one."""
    found: list[Number] = []
    end = 0
    for place, match in enumerate(NUMBER.finditer(line)):
        number = (
            None if _WORD.match(line, match.start()) else _number(line, end, place, match, found)
        )
        end = max(match.end(), number.end) if number else match.end()
        if number:
            found.append(number)
    return found


def numbers_of(lines: Sequence[str]) -> list[Number]:
    """The named numbers of the first line, each name once; later lines show which of them grow.

    A time that only grows is a clock; of several counts the step is one that never restarts, but
    with an epoch.
    """
    line = lines[0]
    found, values = numbers_on(line), series_of(lines)
    found = [replace(n, type=_of_share(line, values, n)) if n.column == "mfu" else n for n in found]
    found = [
        kept(n) if n.column == "step_time_s" and rises(values, n.place, 2) else n for n in found
    ]
    found = [n if n.column != "iteration" or is_whole(values, n.place) else kept(n) for n in found]
    steps = [n for n in found if n.column == "iteration"]
    again = _new_epochs(found, values)
    rising = [n for n in steps if grows(values, n.place, again)]
    if len({values[n.place][-1] - values[n.place][0] for n in rising}) > 1:
        # Counts of two kinds: which of them a time is of, its name need not tell.
        found = [replace(n, is_vague=True) if n.column == "step_time_s" else n for n in found]
    rising = rising or [n for n in steps if n.name not in UNNAMED]
    step = min(rising, key=lambda n: _is_other_than_step(line, n), default=None)
    found = [kept(n) if n.column == "iteration" and n is not step else n for n in found]
    if not any(n.column == "loss" for n in found):
        found = [_as_loss(n) for n in found]
    losses = [n for n in found if n.column == "loss"]
    loss = min(losses, key=lambda n: _is_other_than_loss(n.name), default=None)
    found = [kept(n) if n.column == "loss" and n is not loss else n for n in found]
    return list({n.group: n for n in reversed(found)}.values())[::-1]


def _as_loss(number: Number) -> Number:
    """A mean of losses as the loss, on lines that print no other; any other number as it is."""
    words = [word for word in number.group.split("_") if word not in _MEANS]
    word, _ = _word_of("_".join(words), "", is_first=False, is_batch=False)
    if len(words) == number.group.count("_") + 1 or word is None or word.column != "loss":
        return number
    return replace(number, group="loss", column="loss", type="double")


def _is_other_than_step(line: str, number: Number) -> tuple[bool, bool, int]:
    """Whether a count has another name than `step`: next to a step, it may count micro-batches.

    Of other names the longest is preferred: `num_updates` is a count, `update` may be within one.
    """
    name = plain(name_before(line[: number.start], False))
    return not name.endswith("step"), name.endswith("s") and name[:3] != "num", -len(name)


def _is_other_than_loss(name: str) -> int:
    """How far a name is from that of the training's loss; a bare `loss` may be a running mean."""
    return 0 if "train" in name else 1 if name in ("loss", "totalloss") else 2


def _number(
    line: str, end: int, place: int, match: re.Match[str], earlier: Sequence[Number]
) -> Number | None:
    before, start, stop = line[end : match.start()], match.start(), match.end()
    if before.strip() == "/" and earlier and earlier[-1].column == "iteration":
        unnamed = not any(number.name == "epoch" for number in earlier)
        if unnamed and _IN_TOTAL.search(line[: earlier[-1].start]):
            return Number(place, start, stop, "of_epoch", "more.of_epoch", name="/")
        return Number(place, start, stop, "train_iters", "train_iters", "bigint", name="/")
    if re.match(r"[:,]\d|%\|", line[stop:]) or re.search(r"\d:$", line[:start]):
        return None  # a clock, a decimal comma, or how full a bar is
    if _OPENS_LIST.search(before) and line[stop : stop + 1] == ",":
        return None  # `"step": [1, 2872]`: a name of several numbers
    suffix = _SUFFIX.match(line, stop)
    stop = suffix.end() if suffix else stop
    behind = _UNIT.match(line, stop)
    unit = behind[1].casefold() if behind else ""
    name = name_before(before, bool(end))
    word, known = _word_of(name, unit, is_first=not end, is_batch=_is_batch(name, line[stop:]))
    if word is None and not name and behind and _END.match(line, behind.end()):
        word, known = _words().get(plain(unit)), plain(unit)  # the name comes behind: `2.31 loss`
    if word is None and not name and not before.strip(" \t-|:[]("):
        word, known = _unnamed(line, start, stop)
    if word is None:
        group = re.sub(r"\W+", "_", name.casefold()).strip("_")[:40]
        if not group or any(map(is_opaque, name.split())):  # a token is no name
            return None
        return Number(place, start, stop, group, f"more.{group}", name=known)
    kind = _SHORTENED.get(word.type, word.type) if suffix else word.type
    number = Number(place, start, stop, word.column, word.column, kind, 0, known, word.is_vague)
    if before.strip() == "/":
        return kept(number)  # `5092/261 tok/s`: of two sides, or a mean
    if not word.has_unit:
        return number
    unit_alone = unit.partition("/")[0]
    if long := _LONG.get(unit_alone) or _long_in(name):
        return replace(number, type=long)
    return replace(number, shift=_shift(name, unit_alone))


def _unnamed(line: str, start: int, stop: int) -> tuple[Word | None, str]:
    """A count without a name: `[10/500] loss 2.31`, or the first of a line that begins with it."""
    if not line[start:stop].isdecimal():
        return None, ""
    if _TOTAL.match(line, stop):
        return _words()["step"], OF_TOTAL
    alone = not line[:start].strip() and line[stop : stop + 1].isspace()
    return (_words()["step"], LEADING) if alone else (None, "")


def _word_of(name: str, unit: str, *, is_first: bool, is_batch: bool) -> tuple[Word | None, str]:
    """What a name or a unit says, and the word that says it."""
    if own := _units().get(_canonical(unit)):
        return own, _canonical(unit)
    if is_batch:
        return _words()["step"], "step"
    for own_name in (name, _IN_UNIT.sub("", name)):
        if word := _words().get(plain(own_name)):
            return word, plain(name)
    in_brackets = re.search(r"\(([^()]{1,30})\)?\s*$", name)
    if in_brackets and (own := _units().get(_canonical(in_brackets[1].casefold().strip()))):
        return own, plain(name)
    # Of `INFO trainer: Step` or `train/loss` the last words count, if those in front allow it.
    parts = re.findall(r"[A-Za-z]+", _RATE.sub(" persec", name))
    while len(parts) > 1 and parts[-1].casefold() in _OF_TRAINING:
        parts.pop()  # `loss (train)`
    if _listed("others").isdisjoint(map(str.casefold, parts)):
        for start in range(min(len(parts), _MOST_WORDS)):
            front, known = parts[:start], "".join(parts[start:]).casefold()
            if known in _words() and (
                is_first or _listed("same").issuperset(map(str.casefold, front))
            ):
                return _words()[known], known
    return None, plain(name)


def _is_batch(name: str, behind: str) -> bool:
    """Whether a number is the current batch of a total: `batch 3/500`."""
    return plain(name) == "batch" and _TOTAL.match(behind) is not None


def name_before(before: str, after_number: bool) -> str:
    """The words right in front of a number, without the unit of the number before them."""
    unit = _UNIT.match(before) if after_number else None
    word = unit[1].casefold() if unit else ""
    known = word in _PLAIN_UNITS or _canonical(word) in _units()
    text = before[unit.end() :] if unit and known else before
    if after_number and (close := text.find(")")) >= 0 and "(" not in text[:close]:
        text = text[close + 1 :]  # `409.43/s)  LR:`
    if text.rstrip().endswith("/"):
        return ""  # `11it/18it`: a total
    named = _NAME.search(re.split(r"[|;,]", text[-_NEAR:])[-1])
    return _RANK.sub("", _FILLERS.sub("", named[1].strip())) if named else ""


def _canonical(unit: str) -> str:
    """A unit in the words of the declaration: toks/sec/device is tokens/s/gpu."""
    words = _file()["same_units"]
    return "/".join(words.get(part, part) for part in unit.split("/"))


def plain(name: str) -> str:
    """The letters of a name, in lower case; `/s` at its end in words."""
    return re.sub(r"[^a-z]", "", _RATE.sub("persec", name).casefold())


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


def _of_share(line: str, values: Sequence[Sequence[float]], number: Number) -> str:
    """The type of a share of the peak: 41.2 and 41.2% are percent, 0.412 is a fraction."""
    own = values[number.place] if number.place < len(values) else []
    in_percent = line[number.end :].lstrip().startswith("%") or any(value > 1 for value in own)
    return "percent" if in_percent else "double"


def _new_epochs(found: Sequence[Number], values: Sequence[Sequence[float]]) -> frozenset[int]:
    """The lines, by place, behind which a number named epoch is larger."""
    epoch = next((n.place for n in found if n.name == "epoch"), len(values))
    own = values[epoch] if epoch < len(values) else []
    return frozenset(place for place, (a, b) in enumerate(pairwise(own)) if a < b)


@cache
def _file() -> Mapping[str, Any]:
    return declared(__package__ or "bench.ingest.logs", "number_words.toml")


@cache
def _listed(key: str) -> frozenset[str]:
    return frozenset(_file()[key])


@cache
def _by(key: str) -> dict[str, Word]:
    words: dict[str, Word] = {}
    for word in _file()["word"]:
        one = Word(word["column"], word["type"], "unit" in word, word.get("vague") is True)
        words |= dict.fromkeys(word.get(key, ()), one)
    return words


@cache
def _words() -> dict[str, Word]:
    return _by("names")


@cache
def _units() -> dict[str, Word]:
    return _by("units")


@cache
def columns() -> frozenset[str]:
    """The columns that a word may name."""
    return frozenset(word.column for word in (*_words().values(), *_units().values()))
