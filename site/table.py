"""Tables of pages: as HTML, and as data columns for sorting by the script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any

from markupsafe import Markup, escape

from ..vocabulary.dataclass import dataclass

ROWS = 200  # maximum of HTML rows; the script shows all rows of the data
_PLACES = ("run", "place")  # columns of FILE:LINE
_FEW = 0.5  # maximum share of distinct values for a dictionary encoding


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: sort value, text, link, style class."""

    value: Any = None  # Any: text or number
    text: str | None = None
    href: str | None = None
    look: str = ""  # a class: computed, estimated, ...

    @property
    def shown(self) -> str:
        """The displayed text."""
        return self.text if self.text is not None else "" if self.value is None else str(self.value)


BLANK = Cell()


@dataclass(frozen=True, slots=True)
class Column:
    """A column: heading, kind (text, number, status), and cells."""

    key: str
    title: str
    cells: Sequence[Cell]
    kind: str = "text"
    unit: str = ""
    hidden: bool = False
    wide: bool = False  # has sentences, which may wrap

    @property
    def is_empty(self) -> bool:
        """Whether all cells are empty."""
        return not any(cell.shown for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a unique name on its page; `runs` are ids of runs, one per row."""

    id: str
    label: str
    columns: Sequence[Column]
    runs: Sequence[str] | None = None
    looks: Sequence[str] = field(default=())  # classes of rows
    key: str = ""  # of its data file, if there are too many rows for HTML
    first: int = ROWS

    @property
    def rows(self) -> int:
        return len(self.columns[0].cells) if self.columns else 0

    @property
    def has_data(self) -> bool:
        """Whether the HTML has only the first rows."""
        return bool(self.key) and self.rows > self.first

    def html(self, root: str) -> Markup:
        """The table as HTML; `root` is the relative path from the page to the top."""
        if not self.rows:
            return Markup("")
        key = f' data-key="{escape(self.key)}"' if self.has_data else ""
        shown = [one for one in self.columns if not (one.hidden and self.has_data)]
        head = "".join(_heading(one) for one in shown)
        body = "".join(self._row(at, shown, root) for at in range(min(self.rows, self.first)))
        more = (
            f'<p class="more">The first {self.first:,} of {self.rows:,} rows; '
            "with the script of this page all of them are here.</p>"
            if self.has_data
            else ""
        )
        return Markup(
            f'<div class="table-frame" tabindex="0" role="region" '
            f'aria-label="{escape(self.label)}">'
            f'<table class="grid" id="{escape(self.id)}"{key}><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>{more}"
        )

    def _row(self, at: int, shown: Sequence[Column], root: str) -> str:
        run = f' data-run="{escape(self.runs[at])}"' if self.runs else ""
        look = f' class="{escape(self.looks[at])}"' if self.looks and self.looks[at] else ""
        return f"<tr{run}{look}>{''.join(_cell(one, one.cells[at], root) for one in shown)}</tr>"

    def data(self) -> dict[str, Any]:
        """All rows as columns; repeated texts are dictionary-encoded."""
        made: dict[str, Any] = {
            "columns": [_data(one, self.looks) for one in self.columns],
            "rows": self.rows,
        }
        return {**made, "runs": list(self.runs)} if self.runs else made


def column(
    key: str, title: str, rows: Iterable[Any], cell: Callable[[Any], Cell], **more: Any
) -> Column:
    """A column with one cell per row."""
    return Column(key, title, [cell(row) for row in rows], **more)


def apart(
    columns: Sequence[Column], keep: Sequence[str]
) -> tuple[list[tuple[str, str]], list[Column]]:
    """Split columns into constant ones (heading and text) and others; drops empty ones."""
    alike: list[tuple[str, str]] = []
    others: list[Column] = []
    for one in columns:
        if one.is_empty:
            continue
        texts = {cell.shown for cell in one.cells}
        if len(texts) == 1 and len(one.cells) > 1 and one.key not in keep:
            alike.append((one.title, texts.pop()))
        else:
            others.append(one)
    return alike, others


def _heading(one: Column) -> str:
    hidden = " hidden" if one.hidden else ""
    unit = f' <span class="unit">{escape(one.unit)}</span>' if one.unit else ""
    side = ' class="number"' if one.kind == "number" else ""
    return (
        f'<th scope="col" data-key="{escape(one.key)}" data-kind="{one.kind}"{side}{hidden}>'
        f"{escape(one.title)}{unit}</th>"
    )


def _cell(one: Column, cell: Cell, root: str) -> str:
    text = str(escape(cell.shown))
    if one.key in _PLACES and ":" in text:
        # A long name is cut in its middle: the line, at its end, tells runs apart.
        name, space, more = text.partition(" (")
        stem, _, line = name.rpartition(":")
        apart = f'<span class="stem">{space}{more}</span>' if space else ""
        text = f'<span class="stem">{stem}</span><span>:{line}</span>{apart}'
    if cell.href:
        text = f'<a href="{escape(root + cell.href)}">{text}</a>'
    elif one.kind == "status" and text:
        text = f'<span class="badge {escape(cell.value)}">{text}</span>'
    looks = " ".join(
        filter(None, ("number" if one.kind == "number" else "wide" if one.wide else "", cell.look))
    )
    look = f' class="{looks}"' if looks else ""
    given = cell.value is not None and str(cell.value) != cell.shown
    value = f' data-value="{escape(str(cell.value))}"' if given and one.kind == "number" else ""
    return f"<td{look}{value}{' hidden' if one.hidden else ''}>{text}</td>"


def _data(one: Column, looks: Sequence[str]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "key": one.key,
        "title": one.title,
        "unit": one.unit,
        "kind": one.kind,
        "dictionary": None,
    }
    cells = one.cells
    if one.kind == "number":
        values = [cell.value for cell in cells]
        texts = [cell.text if cell.text != str(cell.value) else None for cell in cells]
        made |= {"values": values, "texts": texts if any(texts) else None}
    else:
        shown = [cell.shown or None for cell in cells]
        distinct = list(dict.fromkeys(text for text in shown if text is not None))
        if len(distinct) <= _FEW * len(cells):
            place = {text: at for at, text in enumerate(distinct)}
            made["dictionary"] = distinct
            indices = [None if text is None else place[text] for text in shown]
            made |= {"values": indices, "texts": None}
        else:
            made |= {"values": shown, "texts": None}
    hrefs = [cell.href for cell in cells]
    classes = [
        " ".join(filter(None, (cell.look, looks[at] if looks else ""))) or None
        for at, cell in enumerate(cells)
    ]
    made["hrefs"] = hrefs if any(hrefs) else None
    made["classes"] = classes if any(classes) else None
    return made
