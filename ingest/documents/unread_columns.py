"""Fields that unread columns state: the text around a table does not set them for its rows.

Under `TP/PP` or `Batch (global)` each row has a value; a line above is about other runs, or about
some of these.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ...vocabulary.headings import Column, column_of, unread_results
from .environment_columns import variable_of
from .setting_columns import counts_repeats

_PART = re.compile(r"[A-Za-z]{1,20}")
_SPLIT = re.compile(r"[/,;+|×*()\[\]&:]|\bx\b|\band\b", re.I)
# Times, rates and shares: results, not settings.
_RESULT = re.compile(
    r"\b(?:targets?|goals?|hours?|times?|seconds?|secs?|ms|days?|speed|throughput|rate|change|gain|memory|mem|loss"
    r"|latency|cost|price|efficiency|util\w*|flops?|bandwidth|tokens?|[kmgt]i?b|bytes?|k?w|k?wh|[mg]hz)\b|%|/\s?s\b",
    re.I,
)
_STATED = re.compile(r"(?=.*\d)(?!.*\d\.\d).{1,30}")  # whole numbers, among few words
_LABEL = re.compile(r"(?:[A-Za-z][\w.]*[- ])?~?\d{1,4}(?:\.\d{1,3})?[bB]")
_OTHER_COUNT = re.compile(r"\b(?:tokens?|batch|bsz?|data|samples?|words)\b", re.I)
_BATCH = ("mbs", "gbs", "grad_accum", "device_batch")
_FIELDS_OF = {
    "batch": _BATCH,
    "batches": _BATCH,
    "bs": _BATCH,
    "bsz": _BATCH,
    "micro": ("mbs",),
    "accum": ("grad_accum",),
    "accumulation": ("grad_accum",),
    "node": ("nodes", "devices"),
    "nodes": ("nodes", "devices"),
    "hosts": ("nodes", "devices"),
    "gpus": ("devices", "nodes"),
    "sequence": ("seq_len",),
    "seq": ("seq_len",),
    "context": ("seq_len",),
    "ctx": ("seq_len",),
    "tensor": ("tp",),
    "pipeline": ("pp",),
}
_LETTERS = {"s": ("seq_len",), "b": _BATCH, "h": ("hidden", "heads"), "n": ("nodes", "devices")}
_SHAPE = ("size", "layers", "hidden", "heads", "kv_heads", "ffn_hidden", "params_b")


_ID = re.compile(
    r"\W*(?:#|no\.?|nr\.?|ids?|index|runs?|rows?|jobs?|steps?|ranks?|epochs?|versions?|iter\w*|date"
    r"|year|count|n)?\W*(?:ids?|no|number|index)?\W*",
    re.I,
)
_WHOLE = re.compile(r"\d{1,3}(?:,\d{3}){1,2}|\d{1,7}")
# The usual range of each field in training; a column of other numbers is not of this field.
_RANGES = {
    **dict.fromkeys(("tp", "pp", "cp", "ep", "vpp", "layers", "heads", "kv_heads"), (1, 512)),
    **dict.fromkeys(("nodes", "devices", "dp", "dp_shard", "dp_replicate", "ranks"), (1, 200_000)),
    **dict.fromkeys(("mbs", "grad_accum"), (1, 8192)),
    "gbs": (1, 100_000),
    "devices_per_node": (1, 16),
    "seq_len": (128, 10_000_000),
    "hidden": (128, 100_000),
    "ffn_hidden": (128, 500_000),
    "vocab": (1000, 2_000_000),
}
_MOST_SPLIT = 256  # ranks of one layer
# The largest usual number of each field, and of what the larger ones are multiples.
_TYPICAL = {
    "pp": (64, 1), "vpp": (32, 1), "layers": (200, 1), "heads": (256, 1), "kv_heads": (256, 1),
    "mbs": (256, 1), "grad_accum": (4096, 1), "gbs": (100_000, 8), "devices": (200_000, 8),
    "ranks": (200_000, 8), "seq_len": (10_000_000, 64), "hidden": (100_000, 64),
    "ffn_hidden": (500_000, 32), "vocab": (2_000_000, 1),
}  # fmt: skip


def fields_of_unread(
    headings: Sequence[str], columns: Sequence[Column | None], rows: Sequence[Sequence[str]]
) -> frozenset[str]:
    """The fields that columns under unknown headings state, or may state, by their words."""
    found: set[str] = set()
    sized = any(column and column.name == "size" for column in columns)
    for at, heading in enumerate(headings):
        if at < len(columns) and columns[at]:
            continue
        filled = [cell for row in rows if at < len(row) and (cell := row[at].strip())]
        again = column_of(heading)  # `Median TPS/GPU` next to the mean
        results = _RESULT.search(heading) or (again and again.role == "result")
        if filled and all(map(_STATED.fullmatch, filled)) and not results:
            found |= {again.name} if again else set(_fields_in(heading))
        of_models = (
            filled and all(map(_LABEL.fullmatch, filled)) and not _OTHER_COUNT.search(heading)
        )
        if not sized and of_models:
            found |= set(_SHAPE)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class PossibleMeanings:
    """What columns of whole numbers under unknown headings may be.

    `by_range`: the fields by range alone; `typical`: those of which the numbers are typical and
    differ; `constant`: by field, the one number of a typical column in which they do not;
    `of_some`: by field, the numbers that some rows name in words.
    """

    by_range: frozenset[str] = frozenset()
    typical: frozenset[str] = frozenset()
    constant: Mapping[str, frozenset[int]] = field(default_factory=dict)
    of_some: Mapping[str, frozenset[int]] = field(default_factory=dict)

    def keeps(self, name: str, value: int | None, *, is_near: bool) -> bool:
        """Whether a fact of the text around the table may be one of its rows.

        The text may be about other rows than those of an unknown column of the same field.
        """
        if value in self.of_some.get(name, ()):
            return False
        if name in self.typical or (not is_near and name in self.by_range):
            return False
        return name not in self.constant or self.constant[name] == {value}


def fields_possible(
    headings: Sequence[str],
    columns: Sequence[Column | None],
    rows: Sequence[Sequence[str]],
    explained: Container[str] = (),
    of_some: Mapping[str, frozenset[int]] = MappingProxyType({}),
) -> PossibleMeanings:
    """The fields that columns of whole numbers under unknown headings may be.

    Excluded are names of rows (`Run`, `#`), numbers that count the rows, headings whose words name
    a field, and those that the text explains as something else. `of_some`: as in `Possible`.
    """
    by_range: set[str] = set()
    typical: set[str] = set()
    constant: dict[str, frozenset[int]] = {}
    for at, heading in enumerate(headings):
        if (at < len(columns) and columns[at]) or _is_named(heading) or heading in explained:
            continue
        if any(_fields_in(heading)):  # its words say which
            continue
        numbers = _whole_numbers(rows, at)
        in_range = {
            name
            for name, (least, most) in _RANGES.items()
            if numbers and all(least <= number <= most for number in numbers)
        }
        by_range |= in_range
        usual = {name for name in in_range if all(_is_typical(name, n) for n in numbers)}
        if len(rows) == 1 or len(set(numbers)) > 1:
            typical |= usual
        else:
            constant |= {
                name: constant.get(name, frozenset()) | {number}
                for name in usual
                for number in numbers[:1]
            }
    return PossibleMeanings(frozenset(by_range), frozenset(typical), constant, of_some)


def _whole_numbers(rows: Sequence[Sequence[str]], at: int) -> list[int]:
    """The numbers of a column; none if a cell is another, or if they count the rows."""
    filled = [cell for row in rows if at < len(row) and (cell := row[at].strip(" *`"))]
    if not filled or not all(map(_WHOLE.fullmatch, filled)):
        return []
    numbers = [int(cell.replace(",", "")) for cell in filled]
    first = numbers[0]
    return [] if len(numbers) > 1 and numbers == [*range(first, first + len(numbers))] else numbers


def _is_typical(name: str, number: int) -> bool:
    """Whether trainings have such a number: tensor parallelism of 2^n, lengths of 64 x n."""
    if name in ("tp", "cp", "ep"):
        return number <= _MOST_SPLIT and number & (number - 1) == 0
    most, multiple = _TYPICAL.get(name, (number, 1))
    return number <= most and (number % multiple == 0 or number < multiple)


def _is_named(heading: str) -> bool:
    """Whether a heading rules out that its numbers are sizes: results, names, variables."""
    if _RESULT.search(heading) or _ID.fullmatch(heading) or counts_repeats(heading):
        return True
    return bool(variable_of(heading) or unread_results([heading]))


def _fields_in(heading: str) -> Iterator[str]:
    for part in _SPLIT.split(heading):
        column = column_of(part.strip()) if part.strip() else None
        if column and column.role != "result":
            yield column.name
    yield from _LETTERS.get(heading.strip(" *`$").lower(), ())
    for word in _PART.findall(heading):
        yield from _FIELDS_OF.get(word.lower(), ())
