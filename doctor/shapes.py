"""Groups lines by shape: lines that differ only in their numbers; rows of numbers below names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from ..ingest.files.containers import recoded, wrapping
from ..ingest.files.content import UTF_16
from ..ingest.files.inputs import inputs
from ..ingest.files.streams import packing, require_bytes, unpacked
from ..ingest.logs.dialect import Dialect
from ..ingest.logs.drafted import RANKED_DIGITS
from ..ingest.logs.lines import printed_at, read_lines
from ..ingest.logs.log import LogReader
from ..ingest.logs.number_names import Number, numbers_of
from ..vocabulary.measurement_lines import LONGEST, METRIC, NUMBER
from ..vocabulary.secrets import redact_text

EXAMPLES = 200  # sample lines kept of a shape
MOST_SHAPES = 20_000
_TABLES = frozenset((".md", ".markdown", ".csv", ".tsv", ".json", ".toml", ".yaml", ".yml"))
_OTHER = "(further shapes)"


@dataclass(slots=True)
class Shape:
    """Lines that differ only in their numbers; `text` has `#` in place of these."""

    text: str
    first: str  # FILE:LINE
    count: int = 0
    lines: list[str] = field(default_factory=list)
    dates: list[datetime | None] = field(default_factory=list)  # in front of each number, if any
    names: tuple[str, ...] = ()  # of the cells, if the line above the first is a heading

    @property
    def measures(self) -> bool:
        """Whether the lines look like measurements: numbers, and a word for a metric."""
        words = " ".join((self.text, *self.names))
        return "#" in self.text and bool(METRIC.search(words))


@dataclass(slots=True)
class Diagnosis:
    """Counts of read lines, and the shapes of unread ones, most relevant first."""

    lines: int
    lines_read: int
    lines_known: int
    shapes: list[Shape]


def shape_of(line: str) -> str:
    """The line with `#` for every number and single blanks."""
    if cells := shape_of_cells(line[:LONGEST]):
        return cells
    masked = RANKED_DIGITS.sub("#", NUMBER.sub("#", line[:LONGEST]))
    return re.sub(r"\s+", " ", masked).strip()


def diagnose(
    paths: Iterable[Path], root: Path, formats: Sequence[Dialect], warn: Callable[[str], None]
) -> Diagnosis:
    """Parse logs and group the unread lines by shape; `warn` gets unreadable files.

    Documents and tables in folders are skipped. Raises BenchError for a path that does not exist.
    """
    diagnosis = Diagnosis(0, 0, 0, [])
    shapes: dict[str, Shape] = {}
    named = set(paths)
    names = set(map(str, named))
    unreadable = lambda at, error: warn(f"{at}: {error.strerror or error}")  # noqa: E731
    for item in inputs(named, root, unreadable):
        if item.given not in names and item.path.suffix.lower() in _TABLES:
            continue
        try:
            _read(item.path, item.uri, formats, diagnosis, shapes)
        except OSError as error:
            warn(f"{item.uri}: cannot read: {error.strerror or error}")
    order = sorted(
        shapes.values(), key=lambda shape: (not shape.measures, -shape.count, shape.text)
    )
    diagnosis.shapes = order
    return diagnosis


def _read(
    path: Path, uri: str, formats: Sequence[Dialect], diagnosis: Diagnosis, shapes: dict[str, Shape]
) -> None:
    above = ""
    in_key = False
    dates: dict[int, object] = {}  # the newest lines

    def unread(number: int, text: str) -> None:
        nonlocal above, in_key
        if "PRIVATE KEY-----" in text:
            in_key = "-----BEGIN" in text
        elif in_key:
            return
        at = dates.get(number)
        _add(shapes, f"{uri}:{number}", text, above, at if isinstance(at, datetime) else None)
        above = text

    reader = LogReader("doctor", formats, unread=unread)
    require_bytes(path, path.stat())
    with path.open("rb") as stream:
        head = stream.peek(1 << 16)
        how = packing(head)
        text = unpacked(stream, how, path.stat().st_size, whole=False) if how else stream
        if recode := recoded if head.startswith(UTF_16) else wrapping(head):
            text = recode(stream)
        for line in read_lines(text):
            dates = {line.number - 1: dates.get(line.number - 1)}
            dates[line.number] = printed_at(line.prefixes).get("printed_at")
            reader.feed(line)
            reader.take_rows()
    read = reader.finish()
    diagnosis.lines += read.lines
    diagnosis.lines_read += read.lines_read
    diagnosis.lines_known += read.lines_known


def _add(
    shapes: dict[str, Shape], place: str, text: str, above: str, at: datetime | None = None
) -> None:
    name = shape_of(redact_text(text))
    if not name:
        return
    if name not in shapes and len(shapes) >= MOST_SHAPES:
        name = _OTHER
    if name not in shapes:
        shapes[name] = Shape(name, place, names=names_above(text, redact_text(above)))
    shape = shapes[name]
    shape.count += 1
    if len(shape.lines) < EXAMPLES and len(text) <= LONGEST:
        shape.lines.append(redact_text(text))
        shape.dates.append(at)


CELL = r"(?:[-+]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,3})?|(?i:[-+]?(?:nan|inf)))"
_ANY = r"[-+.\w]{1,40}"
_GAP = " {0,8}"
_LINE = re.compile(rf"{_GAP}{CELL}{_GAP}([,;\t]){_GAP}{CELL}(?:{_GAP}\1{_GAP}{CELL})*{_GAP}")
_NAME = re.compile(r"[A-Za-z][^,;\t\d]{0,60}")


def separator_of(line: str) -> str | None:
    """The separator of a line that consists only of numbers; None for any other line."""
    match = _LINE.fullmatch(line)
    return match[1] if match else None


def names_above(line: str, head: str) -> tuple[str, ...]:
    """The names of a line's cells from the heading line above; empty without one."""
    separator = separator_of(line)
    names = [name.strip(" \t\"'#") for name in head.split(separator)] if separator else []
    fits = len(names) == len(line.split(separator)) and all(map(_NAME.fullmatch, names))
    return tuple(names) if fits and len(set(names)) == len(names) else ()


def numbers_below(names: Sequence[str], lines: Sequence[str]) -> list[Number]:
    """The numbers of such lines that become a group; `place` is the index of their cell."""
    separator = separator_of(lines[0])
    assigned = [
        " | ".join(f"{name}: {cell.strip()}" for name, cell in zip(names, cells, strict=True))
        for cells in (line.split(separator) for line in lines)
        if len(cells) == len(names)
    ]
    # Their offsets do not matter: a cell is found by its index.
    return [replace(number, start=0, end=0) for number in numbers_of(assigned)]


def pattern_of(line: str, numbers: Sequence[Number]) -> str:
    """A pattern for lines with this number of cells, the first a number."""
    separator = separator_of(line) or ","
    between = "\\t" if separator == "\t" else separator
    groups = {number.place: f"(?P<{number.group}>{_ANY})" for number in numbers}
    cells = [groups.get(place, _ANY) for place in range(line.count(separator) + 1)]
    return r"^ *(?=[-+.\d])" + f" *{between} *".join(cells) + " *$"


def shape_of_cells(line: str) -> str | None:
    """The shape of a line of numbers, in which commas are separators, not thousands."""
    separator = separator_of(line)
    return separator.join("#" * (line.count(separator) + 1)) if separator else None
