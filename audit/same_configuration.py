"""Equality of rows by model, configuration or measurement."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence, Set
from functools import cache, lru_cache
from itertools import pairwise, zip_longest
from operator import attrgetter
from typing import NamedTuple

from ..vocabulary.fields import configuration as declared
from ..vocabulary.hardware import device_of
from .input import Row

# `model` compares the size of a model; notes and unknown columns can mark a different context.
CONFIGURATION = (
    *(one.name for one in declared() if one.name != "model" and one.name in Row.__match_args__),
    "env",
    "notes_tokens",
)

_DATE = re.compile(r"\d{1,4}(?:[-/.]\d{1,2}){1,2}")
_HAS_TEXT = re.compile(r"[^\W_]")
_WORDY = re.compile(r"^[^\d]*[^\W\d_]{2}|[^\W\d_]{3}")  # more than a number and its unit
_FREE = re.compile(r"[~≈]?[-+]?\d*\.\d+\D{0,12}|\d{1,4}(?:[-/.]\d{1,2}){1,2}|[\s–—-]*")
_WHOLE = re.compile(r"\d[\d,]{0,14}")
_NAME = re.compile(r"[a-z]{2,}(?:\d+(?![\d.]*[bm]\b))?")
_FREELY = 3


def model(row: Row) -> Hashable:
    """The model, as far as the row states it."""
    return (row.params_b, row.model if row.params_b is None else None, row.layers, row.hidden)


def device_name(row: Row) -> str | None:
    """The canonical name of the device: `v5p-128` and `TPU v5p` are the same."""
    return _device(row.device) if row.device else None


@lru_cache(maxsize=1000)
def _device(text: str) -> str:
    known = device_of(text)
    return known.name if known else text


def named(row: Row) -> bool:
    """Whether the row states its model."""
    return row.params_b is not None or row.model is not None or row.layers is not None


def configuration(row: Row, *without: str) -> Hashable:
    """The stated configuration of a row, except the fields `without`."""
    return (model(row), _fields(without)(row))


@cache
def _fields(without: tuple[str, ...]) -> attrgetter[tuple[Hashable, ...]]:
    return attrgetter(*(name for name in CONFIGURATION if name not in without))


class Texts(NamedTuple):
    """The cells of rows under one unknown heading."""

    distinct: Set[str]
    wordy: bool  # each of them


def texts_of(rows: Sequence[Row]) -> list[Texts]:
    """Of each unknown heading, for `set_apart` of many rows from the same others."""
    columns = zip_longest(*(row.other_cells for row in rows))
    found = ({text for text in column if text is not None} for column in columns)
    return [Texts(texts, all(map(_WORDY.search, texts))) for texts in found]


def set_apart(row: Row, others: Sequence[Texts]) -> bool:
    """Whether a note, or a cell under an unknown heading, may mark a different context.

    Numbers that vary freely among the other rows, and dates, do not count.
    """
    for text, theirs in zip(row.other_cells, others, strict=False):
        if text in theirs.distinct or _DATE.fullmatch(text):
            continue
        if not _HAS_TEXT.search(text):
            if not theirs.wordy:
                continue
        elif not _WORDY.search(text) and len(theirs.distinct) >= _FREELY:
            continue
        return True
    return False


def distinguished(first: Row, second: Row, numbered: Set[int] = frozenset()) -> bool:
    """Whether the name of the model, or a cell under an unknown heading, distinguishes two rows.

    Decimal numbers there are results, and dates no setting; nor are numbers in `numbered` places.
    """
    if _names(first.model) != _names(second.model):
        return True
    cells = zip(first.other_cells, second.other_cells, strict=False)
    return any(
        one != two and place not in numbered and not (_FREE.fullmatch(one) or _FREE.fullmatch(two))
        for place, (one, two) in enumerate(cells)
    )


def numbered_places(rows: Sequence[Row]) -> frozenset[int]:
    """Unknown headings with a distinct whole number in every row: of a run, or measured.

    Numbers that are each a multiple of the one before (`1, 2, 4`) are a setting.
    """
    columns = zip(*(row.other_cells for row in rows), strict=False)
    return frozenset(at for at, texts in enumerate(columns) if _are_numbering(texts))


def _are_numbering(texts: Sequence[str]) -> bool:
    if len(set(texts)) < len(texts) or not all(map(_WHOLE.fullmatch, texts)):
        return False
    numbers = sorted(int(text.replace(",", "")) for text in texts)
    return any(not low or high % low for low, high in pairwise(numbers))


def _names(label: str | None) -> frozenset[str]:
    """The words of a label apart from its size."""
    return frozenset(_NAME.findall((label or "").casefold()))


def groups(rows: Iterable[Row], *without: str) -> list[list[Row]]:
    """Groups of two or more rows with one configuration, except `without`, in row order."""
    return [group for group in _grouped(rows, *without) if len(group) > 1]


def _grouped(rows: Iterable[Row], *without: str) -> list[list[Row]]:
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        found.setdefault(configuration(row, *without), []).append(row)
    return list(found.values())


def same_digits(first: Row, second: Row) -> bool:
    """Whether two rows print the same numbers."""
    if first.printed.keys() != second.printed.keys():
        return False
    return all(number.value == second.printed[name].value for name, number in first.printed.items())
