"""Tables of pages: as HTML, and as data columns for sorting by the script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from markupsafe import Markup, escape

ROWS = 200  # maximum of HTML rows; the script shows all rows of the data
_PLACES = ("run", "place")  # columns of FILE:LINE
_LINE = re.compile(r"[1-9][0-9]{0,8}")
_FEW = 0.5  # maximum share of distinct values for a dictionary, and of texts listed by row


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
        """All rows as columns: repeated texts as dictionaries, places as stem and line, texts that
        few rows have by row, values by change."""
        pages = [f"runs/{run}.html" if run else None for run in self.runs or ()]
        made: dict[str, Any] = {
            "columns": [_with_changes(_data(one, pages)) for one in self.columns],
            "rows": self.rows,
            "looks": _by_row(list(self.looks)),
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


def _data(one: Column, pages: Sequence[str | None]) -> dict[str, Any]:
    """A column; the link of a run to its page in `pages` follows from the run's id."""
    made: dict[str, Any] = {
        "key": one.key,
        "title": one.title,
        "unit": one.unit,
        "kind": one.kind,
        "dictionary": None,
        "classes": _by_row([cell.look for cell in one.cells]),
    }
    if one.kind == "number":
        texts = [cell.text if cell.text != str(cell.value) else None for cell in one.cells]
        values = [_rounded(cell.value) for cell in one.cells]
        return made | {"values": values, "texts": _by_row(texts), "hrefs": None}
    own = pages if one.key == "run" and pages else [None] * len(one.cells)
    hrefs = [
        cell.href if cell.href != page else None for cell, page in zip(one.cells, own, strict=True)
    ]
    return made | {"texts": None} | (_places(one, hrefs) or _words(one, hrefs))


def _with_changes(made: dict[str, Any]) -> dict[str, Any]:
    """Its values where they change, and from which row on, if they seldom do."""
    values = made["values"]
    from_ = [at for at, value in enumerate(values) if not at or value != values[at - 1]]
    if 2 * len(from_) > len(values):
        return made
    return made | {"values": [values[at] for at in from_], "from": from_}


def _rounded(value: Any) -> Any:
    """A number to nine digits, enough to sort and filter by; people see the text."""
    return float(f"{value:.9g}") if isinstance(value, float) and isfinite(value) else value


def _by_row(texts: Sequence[str | None]) -> Sequence[str | None] | dict[int, str] | None:
    """None without a text; by row if few rows have one."""
    found = {at: text for at, text in enumerate(texts) if text}
    return (found or None) if len(found) <= _FEW * len(texts) else texts


def _places(one: Column, hrefs: Sequence[str | None]) -> dict[str, Any] | None:
    """FILE:LINE with links to that line of the file's page, as parts; None for other columns."""
    stems: dict[tuple[str, str], int] = {}
    at, lines = [], []
    for cell, href in zip(one.cells, hrefs, strict=True):
        stem, _, line = cell.shown.rpartition(":")
        page = (href or "").removesuffix(f"#L{line}")
        if one.key not in _PLACES or not _LINE.fullmatch(line) or (href and page == href):
            return None
        at.append(stems.setdefault((stem, page), len(stems)))
        lines.append(int(line))
    names, files = zip(*stems, strict=True) if stems else ((), ())
    return {"values": at, "lines": lines, "stems": names, "files": files, "hrefs": None}


def _words(one: Column, hrefs: Sequence[str | None]) -> dict[str, Any]:
    shown = [cell.shown or None for cell in one.cells]
    place = {text: at for at, text in enumerate(dict.fromkeys(filter(None, shown)))}
    if len(place) > _FEW * len(shown):
        return {"values": shown, "hrefs": _by_row(hrefs)}
    found: dict[str | None, set[str | None]] = {}
    for text, href in zip(shown, hrefs, strict=True):
        found.setdefault(text, set()).add(href)
    each = all(len(links) == 1 for links in found.values()) and len(place) < len(shown)
    links = [next(iter(found[text])) for text in place] if each else _by_row(hrefs)
    return {
        "dictionary": [*place],
        "values": [None if text is None else place[text] for text in shown],
        "hrefs": links if any(hrefs) else None,
    }
