"""Column headings of published tables, by the synonyms in fields.toml and headings.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from typing import Any

from .estimates import is_estimate
from .fields import fields as declared_fields
from .heading_units import IN_BRACKETS, is_in_tokens, unit_of
from .heading_words import meaning_of, quantities_in, undressed
from .package_toml import declared

# `# of GPUs`, `Number of nodes`
_COUNT_OF = re.compile(r"^(?:#+\s*(?:of\b)?|(?:no\.|num|number)[\s_-]*of)[\s_-]*")
LONGEST = 2000  # characters of a heading, cell or line; longer ones were not written for readers
# `ms/iter`; `ms/iter @ step 10`
_TIME_A_STEP = re.compile(
    r"\s*(?P<unit>m?s|secs?|seconds?|msecs?|milliseconds?|us|µs|mins?|minutes?)\s*(?:/|per)\s*"
    r"(?:it|iter|iteration|step)s?\s*",
    re.I,
)
_WORDS = {
    "per": "", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "iter": "it", "iters": "it",
    "iteration": "it", "iterations": "it", "token": "tokens", "sample": "samples", "tok": "tokens",
    "toks": "tokens",
}  # fmt: skip
_STEP_IN = re.compile(
    r"\s*(?:iter(?:ation)?s?|steps?)\s*[(\[]\s*"
    r"(?P<unit>s|secs?|seconds?|ms|msecs?|milliseconds?|us|µs|microseconds?)\s*[)\]]\s*",
    re.I,
)
# `K tokens/s`, `ktok/s/GPU`, `Throughput (M tokens/s)`; `Tokens/s (k)`
_TOKENS_IN = re.compile(
    r"(?<![^\W_])(?P<before>[kKM])[\s-]?(?=tok(?:en)?s?\s*(?:/|per))"
    r"|(?<=\S)\s*[(\[]\s*(?P<behind>[kKM]|thousands?|millions?)\s*[)\]]\s*$",
    re.I,
)
_SNAKE = re.compile(r"(?<=[a-z])_(ms|us|s|sec|secs|seconds|[kmgt]i?b|tflops|pct)$", re.I)
_RESULTS = frozenset({"time", "throughput", "rate"})
_RATIO = re.compile(r"/|\bper\b", re.I)
_TOTALS, _SHARES = frozenset({"energy", "price"}), frozenset({"mfu", "hfu"})
_NO_RATES = frozenset({"mem", "mem_reserved", "days"})
_TABLES = frozenset({"sample", "qualifier"})  # of headings.toml, apart from its columns


@dataclass(frozen=True, slots=True)
class Column:
    """The meaning of a heading: our name, the cell grammar, and the measurement."""

    name: str
    title: str
    type: str
    role: str
    metric: str | None = None
    unit: str | None = None  # of cells that print none
    scale: float = 1.0  # factor of a bare number: 1000 under `K tokens/s`
    scope: str | None = None
    alone: str | None = None  # the column that it represents in a table without that one
    worded: bool = False  # whether it is a setting of another kind if it has only words
    decimal: str = "."  # the sign between whole and decimal digits in its cells


@cache
def columns() -> dict[str, Column]:
    """Every known column by name."""
    keys = [field.name for field in fields(Column)]
    return {
        name: Column(
            **{key: value for key, value in {"name": name, **entry}.items() if key in keys}
        )
        for name, entry in _columns()
    }


def samples() -> list[dict[str, Any]]:
    """The sample rows of headings.toml."""
    return list(_file()["sample"])


def column_of(heading: str) -> Column | None:
    """The column for a heading; None if it is unknown."""
    return columns_of([heading])[0]


def is_result(heading: str) -> bool:
    """Whether a heading is known as that of a result."""
    column = column_of(heading)
    return column is not None and column.role == "result"


def columns_of(headings: Sequence[str]) -> list[Column | None]:
    """The columns of a table; of two headings with the same meaning the first has the name.

    `HW TFLOPs` is the table's TFLOPs if no other heading says TFLOPs, `Speed` its step time if no
    other heading is one.
    """
    return list(_columns_of(tuple(headings)))


_PER_DEVICE = re.compile(r"\W{0,4}per[ -](?:GPU|device|NPU|chip|card)\W{0,4}", re.I)
# Words by which one of several headings with the same meaning tells more than the others.
_TELLING = (
    ("mem", re.compile(r"peak|max|used|usage|alloc|consum|active", re.I)),
    ("mem", re.compile(r"vram|hbm|gpu|device|cuda|npu", re.I)),
    ("device", re.compile(r"GPU|NPU|TPU|accelerator|device|chip|芯片|设备", re.I)),
    ("device", re.compile(r"hardware|硬件", re.I)),
)


@lru_cache(maxsize=1000)
def _columns_of(headings: tuple[str, ...]) -> tuple[Column | None, ...]:
    found = [_read(heading) if len(heading) <= LONGEST else None for heading in headings]
    _prefer_telling(found, headings)
    named = {column.name for column in found if column}
    kept: list[Column | None] = []
    for at, column in enumerate(found):
        if at and _PER_DEVICE.fullmatch(headings[at]):
            column = _each_of(found[at - 1])
        column = None if column and is_estimate(column.name, headings[at]) else column
        if column and column.alone and column.alone not in named:
            column = _standing_for(column)
        if column is None and "seq_len" in named and headings[at].strip("*` ") == "B":
            column = columns()["gbs"]  # `seq | B | tok/s`
        again = column and any(other and other.name == column.name for other in kept)
        kept.append(None if again else column)
    return tuple(kept)


def _prefer_telling(found: list[Column | None], headings: Sequence[str]) -> None:
    """Next to `Peak VRAM`, a bare `VRAM` is what the device has, and `Peak Mem` is of the host;
    `GPU` tells more than `Platform`.
    """
    for name, telling in _TELLING:
        places = [at for at, column in enumerate(found) if column and column.name == name]
        if any(telling.search(headings[at]) for at in places):
            for at in places:
                found[at] = found[at] if telling.search(headings[at]) else None


def _each_of(column: Column | None) -> Column | None:
    """The rate of one device of a rate: `Per GPU` next to `Tokens/s`."""
    return columns().get(f"{column.name}_per_device") if column else None


def _standing_for(column: Column) -> Column:
    meant = columns()[str(column.alone)]
    return replace(meant, unit=column.unit or meant.unit, type=column.type)


def _read(heading: str, whole_too: bool = True) -> Column | None:
    plain = undressed(heading)
    # `Iteration (s)`, which is no `iterations/s`
    if step := _STEP_IN.fullmatch(plain) or _TIME_A_STEP.fullmatch(plain):
        return _read(f"Step time ({step['unit']})")
    if (large := _TOKENS_IN.search(plain)) and (scaled := _scaled(plain, large)):
        return scaled
    whole = _named(plain)
    if whole:
        return _with_unit(columns()[whole], plain)
    name = _named(IN_BRACKETS.sub("", plain))
    if name is None and _SNAKE.search(plain):
        return _read(_SNAKE.sub(r" (\1)", plain), whole_too)
    if name is None:
        return (_led(plain) or _by_words(plain)) if whole_too else None
    column = columns()[name]
    if column.role == "batch" and is_in_tokens(plain):
        return None
    known = _with_unit(column, plain)
    return _qualified(column, plain) if known is column else known


def _by_words(heading: str) -> Column | None:
    """The column meant by the words of a heading, in their unit."""
    found = meaning_of(heading)
    if found is None or found[0] not in columns():
        return None
    name, words = found
    column = _with_unit(columns()[name], heading)
    if column.type == "time" and words.time_unit:
        return replace(column, unit=words.time_unit)
    of_job = column.name == "throughput" and "job" in words.of
    return replace(column, scope="job") if of_job else column


def _scaled(heading: str, match: re.Match[str]) -> Column | None:
    """A rate or a length of tokens in thousands or millions; None for anything else."""
    column = _read(heading[: match.start()] + heading[match.end() :])
    if column is None or (column.name != "seq_len" and not _is_rate_of_tokens(column)):
        return None
    letter = (match["before"] or match["behind"])[0].lower()
    return replace(column, scale={"k": 1e3, "t": 1e3, "m": 1e6}[letter])


def _is_rate_of_tokens(column: Column) -> bool:
    return (column.metric or "").startswith("tokens_per_s")


def _led(heading: str) -> Column | None:
    """`Total TFLOPs`: the rate of the whole job; `Median tokens/s`."""
    first, _, rest = heading.strip().partition(" ")
    scope = _scopes().get(first.casefold()) if rest else None
    column = _read(rest, False) or _by_words(rest) if scope in ("", "job") else None
    return _per(column, str(scope)) if column and column.type in _RESULTS else None


def _qualified(column: Column, heading: str) -> Column | None:
    """`TFLOPs (aggregate)`, `Step time (mean)`; None if the word makes it another quantity."""
    match = IN_BRACKETS.search(heading)
    if match and column.type in _TOTALS and _RATIO.search(match[1]):
        return None  # `Energy (J/token)`
    if not match or column.type not in _RESULTS:
        return column
    scope = _scopes().get(match[1].strip().casefold())
    if scope is None:  # `TGS (tokens/GPU/s)` repeats itself
        return column if _named(match[1]) == column.name else _by_words(heading)
    return _per(column, scope)


def _per(column: Column, scope: str) -> Column | None:
    """The column of the same rate per device or job; None without such a column."""
    if scope in ("", column.scope):
        return column
    other = _file()[column.name].get("per", {}).get(scope)
    return replace(columns()[other], unit=column.unit) if other else None


def unread_results(headings: Sequence[str]) -> list[str]:
    """Headings of results with unread qualifiers: `Sec/it (fp16)`, `TFLOP/s/node`."""
    pairs = zip(headings, columns_of(headings), strict=True)
    return [heading for heading, column in pairs if column is None and _is_result(heading)]


def _is_result(heading: str) -> bool:
    known = columns()
    if any(known[name].role == "result" for name in quantities_in(heading) if name in known):
        return True
    before = re.split(r"[,(\[]", heading)[0]
    for text in (IN_BRACKETS.sub("", heading), before, heading.rpartition("/")[0]):
        name = _named(text) if text.strip() else None
        if name and columns()[name].role == "result":
            return True
    return False


def is_benchmark(headings: Sequence[str]) -> bool:
    """At least two known headings, of which one is topology or batch; or MFU and another rate.

    Only tables of training print a utilization of FLOPs; TFLOPs alone are in data sheets too.
    """
    known = [column for column in columns_of(headings) if column]
    roles = [column.role for column in known]
    rates = {column.name for column in known if column.role == "result"} - _NO_RATES
    shares = bool(rates & _SHARES) and len(rates) >= 2
    return shares or (len(roles) >= 2 and bool({"topology", "batch"} & set(roles)))


def batch_in_tokens(heading: str) -> bool:
    """`GlobalBatchSize (T)`: a batch in tokens is another quantity than one in sequences."""
    name = _named(IN_BRACKETS.sub("", heading))
    return name is not None and columns()[name].role == "batch" and is_in_tokens(heading)


def _with_unit(column: Column, heading: str) -> Column:
    printed = unit_of(heading, column.type)
    if column.name == "speed" and printed == "h":  # no step takes hours: a training does
        return replace(columns()["train_time"], unit=printed)
    return column if printed is None else replace(column, unit=printed)


def _keys(heading: str) -> tuple[str, str]:
    """The keys of a heading, independent of notation: `tokens_per_sec` is `Tokens / second`."""
    plain = re.sub(r"[µμ]\s*-?", "micro", heading.casefold())
    plain = _COUNT_OF.sub("", plain.strip()) or plain
    words = re.split(r"[^\w%#]+|_", plain)
    keys = ("".join(parts).lstrip("#") for parts in ([_WORDS.get(w, w) for w in words], words))
    by_words, letters = (key or heading.strip().casefold() for key in keys)
    return by_words, letters


def _named(heading: str) -> str | None:
    """The name of the column with this heading."""
    name = next((name for key in _keys(heading) if (name := _by_heading().get(key))), None)
    # `Number of GPU` counts what `GPU` names.
    counted = name == "device" and _COUNT_OF.match(heading.casefold().strip())
    return "devices" if counted else name


@cache
def _by_heading() -> dict[str, str]:
    known: dict[str, str] = {}
    for name, entry in _columns():
        for heading in entry["headings"]:
            for key in _keys(heading):
                other = known.setdefault(key, name)
                if other != name:
                    raise ValueError(f"headings.toml: {heading!r} stands for {other} and {name}")
    return known


@cache
def _scopes() -> dict[str, str]:
    """The denominator of a rate by the word in parentheses; "" for a word without effect."""
    return {word: entry["scope"] for entry in _file()["qualifier"] for word in entry["words"]}


def _columns() -> list[tuple[str, dict[str, Any]]]:
    """Fields of a run with columns in tables, then results and remarks."""
    found: list[tuple[str, dict[str, Any]]] = [
        (
            field.name,
            {"title": field.title, "type": field.cell, "role": field.role, "worded": field.worded,
             "headings": field.headings},
        )
        for field in declared_fields().values()
        if field.headings
    ]  # fmt: skip
    return found + [(name, entry) for name, entry in _file().items() if name not in _TABLES]


@cache
def _file() -> Mapping[str, Any]:
    return declared(__package__ or "bench.vocabulary", "headings.toml")
