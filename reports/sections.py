"""The sections of a page, by what their headings begin with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from ..schema.errors import BenchError


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of a page, and the text from it to the next of its rank or above."""

    title: str
    text: str


def section(page: str, name: str) -> str:
    """The sections of a markdown page whose headings begin with `name`, letters aside.

    Raises BenchError, naming the sections there are, when none does.
    """
    known = sections(page)
    found = [one.text for one in known if one.title.casefold().startswith(name.casefold())]
    if not found:
        raise BenchError(
            f"the page has no section {name!r}",
            why=f"it has {', '.join(repr(one.title) for one in known) or 'none'}",
            hint="section=NAME, with what its heading begins with",
        )
    return "\n\n".join(found)


def sections(page: str) -> list[Section]:
    """Every section: a heading below the title, or a paragraph that begins with bold."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").parse(page)
    lines = page.split("\n")
    heads: list[tuple[int, int, str]] = []  # line, rank, title
    for opening, inline in pairwise(tokens):
        rank = int(opening.tag[1]) if opening.type == "heading_open" else 0
        children = inline.children or []
        if opening.type == "paragraph_open" and opening.level == 0:
            shown = [child for child in children if child.type != "text" or child.content]
            rank = 7 if shown and shown[0].type == "strong_open" else 0
            children = shown[:2] if rank else children
        if rank and opening.map:
            title = "".join(child.content for child in children)
            heads.append((opening.map[0], rank, title))
    found = []
    for at, (line, rank, title) in enumerate(heads):
        if rank == 1:
            continue
        end = next((below for below, other, _ in heads[at + 1 :] if other <= rank), len(lines))
        found.append(Section(title, "\n".join(lines[line:end]).strip("\n")))
    return found
