"""Pages in one file: inline style and script, and a CSP that allows no others."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from hashlib import sha256

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from ..vocabulary.release import VERSION
from . import bundle
from .layout import single_file
from .table import Cell, Column, Table

_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|[-+]?\.\d+")
_END = Markup("</div>")
_WIDE = 48  # characters of a cell that may wrap
_MARKER = "<!-- bench:"  # marker of a region, not shown


def page(title: str, body: Markup, *, slanted: bool = False) -> str:
    """A complete HTML file that sorts, filters and prints without any request.

    `slanted` adds the legend of italic numbers.
    """
    style, script = bundle.sheet(), _script()
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return single_file(
        title=title, body=body, policy=policy, version=VERSION, slanted=slanted,
        style=Markup(style), script=Markup(script),
    )  # fmt: skip


def of_markdown(markdown: str, figures: Mapping[str, Markup] | None = None) -> str:
    """A report as a page; images named in `figures` are replaced by these.

    Its tables are sortable, and headings have anchors.
    """
    text = "\n".join(line for line in markdown.split("\n") if not line.startswith(_MARKER))
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(text)
    opened = (at for at, token in enumerate(tokens) if token.type == "heading_open")
    title = next((tokens[at + 1].content for at in opened), "bench")
    return page(title, Markup().join(_blocks(reader, tokens, figures or {})), slanted=True)


def listing(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[bool],
    *,
    above: Sequence[str] = (),
    below: Sequence[str] = (),
    figures: Sequence[str] = (),
    badges: Collection[str] = (),
) -> str:
    """A table as a page, with sentences above and below it; `badges` are status columns."""
    table = _table("rows", title, columns, [[Cell(text=cell) for cell in row] for row in rows],
                   numbers, badges)  # fmt: skip
    drawn = Markup('<div class="figures">{}</div>').format(Markup("".join(figures)))
    parts = [
        Markup("<h1>{}</h1>").format(title),
        *_sentences(above, "answers"),
        drawn if figures else Markup(),
        table.html("") or Markup('<p class="more">No rows.</p>'),
        *_sentences(below, "remarks"),
    ]
    return page(title, Markup("\n").join(parts))


def _sentences(lines: Sequence[str], look: str) -> list[Markup]:
    items = Markup().join(Markup("<li>{}</li>").format(line) for line in lines)
    return [Markup('<section class="{}"><ul>{}</ul></section>').format(look, items)] * bool(lines)


def _blocks(
    reader: MarkdownIt, tokens: Sequence[Token], figures: Mapping[str, Markup]
) -> list[Markup]:
    """The document's blocks, with tables made sortable."""
    markups: list[Markup] = []
    rest: list[Token] = []
    heading, at = "Table", 0

    def flush() -> None:
        markups.append(Markup(reader.renderer.render(rest, reader.options, {})))
        rest.clear()

    while at < len(tokens):
        token = tokens[at]
        if token.type == "heading_open":
            heading = tokens[at + 1].content
            token.attrSet("id", _key(heading, at))
        if token.type == "table_open":
            end = next(n for n in range(at, len(tokens)) if tokens[n].type == "table_close")
            flush()
            label = heading if not markups else f"{heading}, table {len(markups)}"
            markups.append(_of_tokens(reader, tokens[at:end], label, f"table-{at}").html(""))
            at = end
        elif figure := _figure(tokens, at, figures):
            flush()
            drawn = markups[-2:-1] if not markups[-1].strip() else []
            if drawn and drawn[0].endswith(_END):  # next to the one before it
                markups[-2:] = [drawn[0][: -len(_END)] + figure + _END]
            else:
                markups.append(Markup('<div class="figures">') + figure + _END)
            at += 2 + _caption(tokens, at + 3)
        else:
            rest.append(token)
        at += 1
    flush()
    return markups


def _caption(tokens: Sequence[Token], at: int) -> int:
    """The tokens of an italic caption below a picture, dropped since figures have their own."""
    if at + 2 < len(tokens) and tokens[at].type == "paragraph_open":
        parts = [one for one in tokens[at + 1].children or [] if one.type != "text" or one.content]
        if parts and parts[0].type == "em_open" and parts[-1].type == "em_close":
            return 3
    return 0


def _figure(tokens: Sequence[Token], at: int, figures: Mapping[str, Markup]) -> Markup | None:
    """The figure for a paragraph with a single image."""
    if tokens[at].type != "paragraph_open":
        return None
    parts = tokens[at + 1].children or []
    is_image = len(parts) == 1 and parts[0].type == "image"
    return figures.get(str(parts[0].attrGet("src"))) if is_image else None


def _of_tokens(reader: MarkdownIt, tokens: Sequence[Token], label: str, id: str) -> Table:
    heads: list[str] = []
    numbers: list[bool] = []
    rows: list[list[Cell]] = []
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        if token.type == "th_open":
            heads.append(_text(tokens[at + 1]))
            numbers.append("right" in str(token.attrGet("style") or ""))
        if token.type == "td_open":
            inline = tokens[at + 1]
            shown = Markup(reader.renderer.render([inline], reader.options, {}))
            rows[-1].append(Cell(_text(inline), shown))
    return _table(id, label, heads, rows[1:], numbers, ())


def _text(inline: Token) -> str:
    """The text of a cell without markup."""
    return "".join(one.content for one in inline.children or [] if one.type != "html_inline")


def _table(
    id: str, label: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]],
    numbers: Sequence[bool], badges: Collection[str],
) -> Table:  # fmt: skip
    columns = []
    for at, head in enumerate(heads):
        cells = [row[at] for row in rows]
        wide = any(len(cell.shown) > _WIDE for cell in cells)
        kind = "number" if numbers[at] else "status" if head in badges else "text"
        made = [_valued(cell, kind) for cell in cells]
        columns.append(Column(_key(head, at), head, made, kind, wide=wide))
    return Table(id, label, columns, first=len(rows))


def _valued(cell: Cell, kind: str) -> Cell:
    """A cell with its sort key: the number at the beginning of its text."""
    if kind == "status":
        return Cell(cell.shown.partition(" ")[0], cell.text)
    if kind != "number":
        return Cell(None, cell.text)
    match = _NUMBER.search(str(cell.value or cell.shown))
    return Cell(float(match[0].replace(",", "")) if match else None, cell.text)


def _key(text: str, at: int) -> str:
    """A unique anchor of letters and digits."""
    return f"{re.sub(r'[^0-9A-Za-z]+', '-', text).strip('-').lower()[:40] or 'part'}-{at}"


@cache
def _script() -> str:
    """The part of the site's script that a single page needs."""
    return bundle.scripts()["site.js"].replace("</", "<\\/")


def _hash(text: str) -> str:
    """The CSP hash of an inline style or script."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def fragment(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool],
             above: str = "", below: str = "") -> str:  # fmt: skip
    """A table for embedding in another page, such as a notebook, in its colours."""
    table = _table("", "Rows", columns, [[Cell(text=cell) for cell in row] for row in rows],
                   numbers, ())  # fmt: skip
    parts = [
        Markup('<p class="note">{}</p>').format(text) if text else "" for text in (above, below)
    ]
    return str(
        Markup('<div class="bench-table"><style>{}</style>{}{}{}</div>').format(
            Markup(bundle.scoped(".bench-table")), parts[0], table.html(""), parts[1]
        )
    )
