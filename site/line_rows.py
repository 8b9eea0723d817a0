"""Rows of the longest tables as HTML: the loop of a template takes five times as long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape as quoted

from markupsafe import Markup

from ..vocabulary.format import counted
from .facts import Fact
from .text import Text

LONGEST = 4000  # characters of a line


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a source on its page; `gap` lines before it are not shown."""

    number: int
    text: str
    cited: bool
    gap: int
    run: str | None  # the link to the run that stands there


def source_rows(text: Text, lines: Iterable[SourceLine], root: str) -> Markup:
    """The lines of a source as rows; `root` is the way up from their page."""
    return Markup("\n".join(_source_row(text, one, root) for one in lines))


def _source_row(text: Text, one: SourceLine, root: str) -> str:
    number, cited = one.number, ' class="cited"' if one.cited else ""
    gap = f'<tr class="gap"><td></td><td>… {counted(one.gap, "line")}</td></tr>' if one.gap else ""
    run = f' <a class="run" href="{root}{quoted(one.run)}">run</a>' if one.run else ""
    return (
        f'{gap}<tr id="L{number}"{cited}><th scope="row"><a href="#L{number}">{number}</a></th>'
        f"<td><code>{text.html(one.text, LONGEST)}</code>{run}</td></tr>"
    )


def fact_rows(facts: Iterable[Fact], root: str) -> Markup:
    """Stated facts, with texts as shown, as rows: what, value, and the line that states it."""
    return Markup("\n".join(_fact_row(one, root) for one in facts))


def _fact_row(one: Fact, root: str) -> str:
    place = quoted(f"line {one.line}" if one.line else one.place or "")
    stated = f'<a href="{root}{quoted(one.href)}">{place}</a>' if one.href else place
    note = f' <span class="note">{quoted(one.note)}</span>' if one.note else ""
    computed = ' class="computed"' if one.computed else ""
    return (
        f'<tr><th scope="row">{quoted(one.title)}</th><td{computed}>{quoted(one.text)}</td>'
        f"<td>{stated}{note}</td></tr>"
    )
