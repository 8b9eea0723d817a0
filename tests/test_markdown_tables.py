"""The parser's own rule for tables and ours, which makes no tokens, end tables at the same line."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from bench.ingest.documents.markdown import _parser

PIECES = (
    "| a | b |\n|---|---|\n| 1 | 2 |\n", "x | y\n--|--\n1 | 2\n", "| late | row |\n", "bare text\n",
    "    | far | in |\n", "> | a | b |\n> |---|---|\n> | 1 | 2 |\n", "- | a | b |\n  |---|---|\n",
    "```\n| code | here |\n```\n", "# heading\n", "<!-- a comment -->\n", "\n", "---\n",
)  # fmt: skip


def outside_tables(parser: MarkdownIt, text: str) -> list[tuple[str, str, list[int] | None]]:
    """The blocks that are no part of a table, with their lines."""
    found, inside = [], False
    for token in parser.parse(text):
        inside |= token.type == "table_open"
        if not inside:
            found.append((token.type, token.content, token.map))
        inside &= token.type != "table_close"
    return found


def test_all_else_is_parsed_alike() -> None:
    plain = MarkdownIt("commonmark").enable("table").disable("inline")
    for pieces in permutations(PIECES, 3):
        text = "".join(pieces)
        # A list or quote that holds nothing but a table is told by its lines in either.
        assert outside_tables(_parser(), text) == outside_tables(plain, text), text


@pytest.mark.parametrize("folder", ["data/tables", "docs"])
def test_documents_are_parsed_alike(root: Path, folder: str) -> None:
    plain = MarkdownIt("commonmark").enable("table").disable("inline")
    for path in sorted((root / folder).glob("*.md")):
        text = path.read_text("utf-8")
        assert outside_tables(_parser(), text) == outside_tables(plain, text), path.name
