"""Pages as tests ask for them, and reading a page back."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.program import quick

PAGES = {
    "1.3B": "report --model 1.3B",
    "124M": "report --model 124M",
    "181B": "report --model 181B",
    "log": "report --document fugaku_dp2.log",
}
MARKDOWN = MarkdownIt("commonmark").enable("table")


@cache
def page(swept: Path, *args: str) -> str:
    """A report on data/ as markdown, made once for all tests that look at it."""
    done = quick(swept, "report", *args)
    assert done.code == 0, done.text
    return bare(done.out)


def bare(text: str) -> str:
    """A page without the comments that say where it begins and ends in a README."""
    return re.sub(r"^<!-- bench:(begin|end)[\w .=:/-]* -->\n", "", text, flags=re.M)


def inline(tokens: list[Token]) -> list[Token]:
    """The tokens in the text of blocks."""
    return [child for token in tokens for child in token.children or []]


def split(line: str) -> list[str]:
    """The cells of a table line, by hand: `\\|` is a pipe that belongs to its cell."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def tables(text: str) -> list[list[dict[str, str]]]:
    """Every pipe table of a text as rows of heading -> cell."""
    found = []
    for block in re.split(r"\n(?!\|)", text):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        if len(lines) > 1 and re.fullmatch(r"[|:\- ]+", lines[1]):
            head = split(lines[0])
            found.append([dict(zip(head, split(line), strict=True)) for line in lines[2:]])
    return found


def table(text: str, heading: str) -> list[dict[str, str]]:
    """The first table that has this heading."""
    return next(rows for rows in tables(text) if rows and heading in rows[0])


def value(cell: str) -> float:
    """The number in a cell, without italics, commas and marks."""
    return float(cell.strip("*^ ⚠").replace(",", ""))
