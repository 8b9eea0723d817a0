"""Wide tables unfolded to one run per row: their headings name settings and what was measured.

Under `16B MFU | 32B MFU`, `MFU (BF16) | MFU (FP8)` or `DP=1 | DP=2` a row has several runs. Each
becomes a separate row, on the same line, with each setting in a column headed with its name.
If the headings are settings alone, the text above may name the quantity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...vocabulary.hardware import device_pattern
from ...vocabulary.heading_words import is_per_device
from ...vocabulary.headings import column_of, columns_of
from ...vocabulary.parallelism import settings_in
from .frameworks import frameworks_in
from .grid import Table, TableRow

_SIZE = re.compile(r"(?<![\w.])\d{1,4}(?:\.\d{1,3})?[BM](?![\w.])", re.I)
# `Meta-Llama-3-8B`: a size with the name of its model
_LABEL = re.compile(
    r"(?<![\w.-])(?P<name>(?:[A-Za-z][\w.]*-)(?:[\w.]{1,20}-){0,4})\d{1,4}(?:\.\d{1,3})?[BM]"
    r"(?:-(?:Instruct|Chat|Base|hf|it))?(?![\w.-])",
    re.I,
)
_LENGTH = re.compile(r"\(\s*(?P<value>\d{3,7})\s*\)")  # after the name of a model
_DTYPE = re.compile(
    r"(?<![\w.])(?:(?:MX|NV)?FP(?:4|8|16|32|64)|BF16|TF32|mixed precision|float(?:8|16|32)"
    r"|bfloat16)(?![\w.])",
    re.I,
)
_EDGES = re.compile(
    r"^[\s\-–:,/|@=]+|[\s\-–:,/|@=]+$|[(\[]\s*[)\]]|[\s\-–:,|@]+(?=[(\[])|[(\[]\s*$"
)
_OPENED = re.compile(r"([(\[])\s{0,3}[,;]\s{0,3}")  # `(8xH100, tok/s)` without the devices
_MARKUP = re.compile(r"<br\s*/?>|[`*]", re.I)
_JOINING = re.compile(r"^(?:on|with|at|of|for|in)\s+|\s+(?:on|with|at|of|for|in)$", re.I)
# Libraries under frameworks; `torch.compile` is none.
_LIBRARY = re.compile(
    r"(?<![\w.-])(?:paddle(?:paddle)?|py ?torch|torch|jax|tensorflow|mindspore|oneflow)(?![\w.-])",
    re.I,
)
_COUNT_BEFORE = re.compile(r"(?<![\w.])(\d{1,5})\s*[x×*]?\s*$", re.I)  # 8 of `8xH100`, `8 A100s`
_TIMES = re.compile(r"[(\[]\s?(\d{1,4})\s?[x×]\s?[)\]]")  # `Model 8B (2×) tokens/s`
_OF_MODEL = re.compile(r"^\s*Model\b(?=.)", re.I)
_UNIT = re.compile(r"^\s*(?:GPU|NPU|TPU|HPU|accelerator|card|device|chip)s?\b", re.I)  # `H100 GPUs`
_NETWORK = re.compile(r"(?<!\w)\d{1,5}\s?[GT]bps(?!\w)", re.I)
_NOT_MEASURED = frozenset(("", "-", "–", "—", "n/a", "na"))
_FEWEST = 2  # runs of one row
_SHORTEST = 512  # tokens of a sequence, for a number without a name

UNNAMED = "Result"  # heading of a column of numbers without a known meaning
Settings = tuple[tuple[str, str], ...]  # name and value of each


@dataclass(frozen=True, slots=True)
class _Result:
    """A heading that contains settings: its column, and the rest of the heading."""

    at: int
    heading: str
    settings: Settings

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(kind for kind, _ in self.settings)


def unfolded(table: Table, quantity: str = UNNAMED) -> Table:
    """The table with one run per row; unchanged if it already is.

    `quantity`: the heading for its cells if its headings name no quantity.
    """
    found = _of_one_kind(_results(table.header.cells))
    settings = list(dict.fromkeys(one.settings for one in found))
    if not settings:
        return table
    kinds = found[0].kinds
    heads = list(dict.fromkeys(one.heading or quantity for one in found))
    places = {one.at for one in found}
    shared = [at for at in range(len(table.header.cells)) if at not in places]
    above = {column.name for column in columns_of(_at(table, shared)) if column}
    if above & {column.name for kind in (*kinds, *heads) if (column := column_of(kind))}:
        return table
    others = any(column.role == "result" for column in columns_of(_at(table, shared)) if column)
    if len(settings) < _FEWEST and (others or not found[0].heading):
        return table  # the size in `1B Training Time` is not that of the other results
    header = (*(table.header.cells[at] for at in shared), *kinds, *heads)
    # `Paddle Setup | Torch Setup` next to the rates of both: each belongs to its runs.
    owned = {
        at: own for at in shared if (own := settings_of(table.header.cells[at])[0]) in settings
    }
    by_place = {(one.settings, one.heading or quantity): one.at for one in found}
    rows = tuple(
        TableRow(row.line, cells)
        for row in table.rows
        for cells in _runs(row, shared, owned, settings, heads, by_place)
    )
    return replace(
        table,
        header=TableRow(table.header.line, header),
        alignment=("none",) * len(header),
        rows=rows,
    )


def _at(table: Table, places: Sequence[int]) -> list[str]:
    return [table.header.cells[at] for at in places]


def _of_one_kind(found: Iterator[_Result]) -> list[_Result]:
    """The headings with the same kinds of settings; none if the kinds differ.

    Headings of settings alone share one quantity, so one that names a quantity does not count.
    """
    every = list(found)
    named = [result for result in every if result.heading]
    every = named if len({one.settings for one in named}) >= _FEWEST else every
    kinds = {one.kinds for one in every}
    bare = {not one.heading for one in every}
    return every if len(kinds) == 1 and len(bare) == 1 else []


def _results(headings: Sequence[str]) -> Iterator[_Result]:
    heads: dict[str, str] = {}  # of each column, as in its first heading
    for at, heading in enumerate(headings):
        settings, rest = settings_of(heading)
        if not settings:
            continue
        column, whole = column_of(rest) if rest else None, column_of(heading)
        # `MFU (FP8)` is an MFU with a setting; a heading that is another column has none.
        if (column and column.role == "result" and whole in (None, column)) or not (rest or whole):
            same = heads.setdefault(column.name, rest) if column else ""
            yield _Result(at, same, settings)


_PATTERNS = (
    ("Size", _SIZE), ("Dtype", _DTYPE), ("GPU", device_pattern()), ("Network", _NETWORK),
    ("Framework", _LIBRARY),
)  # fmt: skip


def settings_of(heading: str) -> tuple[Settings, str]:
    """The settings in a heading, one of each kind, and the rest of it."""
    rest = _MARKUP.sub(" ", heading)
    found: list[tuple[str, str]] = []
    if model := _model_in(rest):
        found, rest = model
    for kind, pattern in _PATTERNS:
        values = list(pattern.finditer(rest))
        if len(values) > 1:
            return (), heading
        for match in values:
            found.append((kind, match[0] if "(" in match[0] else match[0].rstrip(")")))
            before, after = rest[: match.start()], rest[match.end() :]
            if kind == "GPU":
                after = _UNIT.sub("", after)
            if kind == "GPU" and (count := _COUNT_BEFORE.search(before)):
                found.append(("GPUs", count[1]))
                before = before[: count.start()]
            rest = f"{before} {after}"
    if (times := _TIMES.search(rest)) and "GPUs" not in {kind for kind, _ in found}:
        found.append(("GPUs", times[1]))
        rest = f"{rest[: times.start()]} {rest[times.end() :]}"
    if found and column_of(rest) is None:
        rest = _OF_MODEL.sub(" ", rest)
    for text, name, value in settings_in(rest):
        found.append((name, value))
        rest = rest.replace(text, " ", 1)
    for name in frameworks_in(rest):
        found.append(("Framework", name))
        rest = rest.replace(name, " ", 1)
    if len({kind for kind, _ in found}) < len(found):
        return (), heading
    rest = _OPENED.sub(r"\1", rest)
    for _ in range(_FEWEST):
        rest = _JOINING.sub(" ", _EDGES.sub(" ", " ".join(rest.split()))).strip()
    of_all = "GPUs" in {kind for kind, _ in found} and not is_per_device(rest)
    return tuple(sorted(found)), _of_all(rest) if rest and of_all else rest


def _model_in(heading: str) -> tuple[list[tuple[str, str]], str] | None:
    """The model that a heading names by more than its size, with the sequence length after it."""
    [*labels] = _LABEL.finditer(heading)
    if len(labels) != 1 or any(_means(part) for part in labels[0]["name"].split("-") if part):
        return None
    start, end = labels[0].span()
    length = _LENGTH.match(heading[end:].lstrip())
    value = int(length["value"]) if length else 0
    if length and value >= _SHORTEST and value & (value - 1) == 0:
        end = heading.index(length[0], end) + len(length[0])
        return [("Size", labels[0][0]), ("Seq len", str(value))], heading[:start] + heading[end:]
    return [("Size", labels[0][0])], heading[:start] + heading[end:]


def _means(word: str) -> bool:
    """Whether a word of a name is a quantity, a number format or a device itself: `MFU-16B`."""
    column = column_of(word)
    results = column is not None and column.role == "result"
    return results or bool(_DTYPE.fullmatch(word) or device_pattern().fullmatch(word))


def _of_all(heading: str) -> str:
    """A rate `on 8 A100` is the total of these devices, if the heading can be a total."""
    total, column = f"Total {heading}", column_of(heading)
    return total if column and column_of(total) == column else heading


def _runs(
    row: TableRow,
    shared: Sequence[int],
    owned: Mapping[int, Settings],
    settings: Sequence[Settings],
    heads: Sequence[str],
    by_place: dict[tuple[Settings, str], int],
) -> Iterator[tuple[str, ...]]:
    """The cells of each run of a row; a filler stays one row, a run without results is skipped."""
    cells = dict(enumerate(row.cells))
    if row.is_filler:
        yield ("",) * (len(shared) + len(settings[0]) + len(heads))
        return
    for setting in settings:
        places = [by_place.get((setting, head), -1) for head in heads]
        own = [cells.get(at, "") for at in places]
        if any(cell.strip().casefold() not in _NOT_MEASURED for cell in own):
            above = (
                "" if owned.get(at, setting) != setting else cells.get(at, "") for at in shared
            )
            yield (*above, *(value for _, value in setting), *own)
