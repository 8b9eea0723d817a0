"""Blocks of markdown: what is a table, a heading, text or code, and on which line."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench.ingest.documents.grid import Table
from bench.ingest.documents.markdown import Heading, TextLine, blocks, split_row


def tables(text: str) -> list[Table]:
    return [block for block in blocks(text) if isinstance(block, Table)]


def only(text: str) -> Table:
    (table,) = tables(text)
    return table


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("| a | b |", ("a", "b")),
        ("a | b", ("a", "b")),
        ("| a | b", ("a", "b")),
        ("a | b |", ("a", "b")),
        ("|a|b|", ("a", "b")),
        ("| | |", ("", "")),
        ("|  | b |", ("", "b")),
        ("| a | |", ("a", "")),
        ("|\ta\t|\tb\t|  ", ("a", "b")),
        (r"| a \| b | c |", (r"a \| b", "c")),
        (r"| a \\| b | c |", (r"a \\", "b", "c")),
        (r"| a \\\| b | c |", (r"a \\\| b", "c")),
        ("| a | b | c | d |", ("a", "b", "c", "d")),
        ("|", ()),
        ("||", ("",)),
        ("", ()),
    ],
)
def test_split_row(text: str, cells: tuple[str, ...]) -> None:
    assert split_row(text) == cells


def test_lines_and_alignment() -> None:
    table = only("text\n\n| a | b | c | d |\n| --- | :-- | :-: | --: |\n| 1 | 2 | 3 | 4 |\n")
    assert (table.header.line, table.separator_line, table.last_line) == (3, 4, 5)
    assert table.alignment == ("none", "left", "center", "right")
    assert [row.line for row in table.rows] == [5]


def test_rows_of_another_length() -> None:
    table = only("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n| 1 |\n")
    assert [row.cells for row in table.rows] == [("1", "2", "3"), ("1",)]


def test_a_separator_that_is_too_short() -> None:
    table = only("| a | b | c |\n|---|---|\n| 1 | 2 | 3 |\n")
    assert table.header.cells == ("a", "b", "c")
    assert len(table.alignment) == 2
    assert table.rows[0].cells == ("1", "2", "3")


def test_blank_rows_stay_rows() -> None:
    table = only("| a | b |\n|---|---|\n| 1 | 2 |\n|   |   |\n| 3 | 4 |\n")
    assert [row.cells for row in table.rows] == [("1", "2"), ("", ""), ("3", "4")]


def test_a_row_of_dashes_is_data() -> None:
    table = only("| GBS | Mem |\n| --- | --- |\n| OOM | x |\n| - | - |\n| 3 | 4 |\n")
    assert [row.cells for row in table.rows] == [("OOM", "x"), ("-", "-"), ("3", "4")]


@pytest.mark.parametrize("between", ["", "\n", "\n\n", "\nmore:\n\n"])
def test_two_tables(between: str) -> None:
    text = f"| a | b |\n|---|---|\n| 1 | 2 |\n{between}| a | b |\n|---|---|\n| 3 | 4 |\n"
    first, second = tables(text)
    assert [row.cells for row in first.rows] == [("1", "2")]
    assert [row.cells for row in second.rows] == [("3", "4")]
    assert text.split("\n")[second.header.line - 1] == "| a | b |"


def test_a_blank_line_inside() -> None:
    table = only("| a | b |\n|---|---|\n| 1 | 2 |\n\n| 3 | 4 |\n\n| 5 | 6 | 7 |\n")
    assert [row.line for row in table.rows] == [3, 5, 7]


def test_what_ends_a_table() -> None:
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n# heading | with a pipe\n| 3 | 4 |\n"
    assert [row.cells for row in only(text).rows] == [("1", "2")]
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n\n\n\n| 3 | 4 |\n"
    assert [row.cells for row in only(text).rows] == [("1", "2")]
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n```\n| 3 | 4 |\n```\n"
    assert [row.cells for row in only(text).rows] == [("1", "2")]


def test_the_end_of_the_file() -> None:
    assert only("| a | b |\n|---|---|\n| 1 | 2 |").rows[0].cells == ("1", "2")
    assert only("| a | b |\n|---|---|").rows == ()
    assert only("| a | b |\n|---|---|").last_line == 2
    assert tables("| a | b |") == []


def test_line_ends_of_windows() -> None:
    text = "# h\r\n\r\n| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n\r\ntext\r\n"
    heading, table, line = blocks(text)
    assert heading == Heading(1, 1, "h")
    assert isinstance(table, Table)
    assert table.rows[0].cells == ("1", "2")
    assert line == TextLine(7, "text")


def test_in_a_quotation_and_in_a_list() -> None:
    table = only("> text\n>\n> | a | b |\n> |---|---|\n> | 1 | 2 |\n")
    assert table.rows[0].cells == ("1", "2")
    table = only("- item\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n")
    assert (table.header.line, table.rows[0].cells) == (3, ("1", "2"))


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_pipes_in_a_fence_are_no_table(fence: str) -> None:
    text = f"{fence}\n| a | b |\n|---|---|\n| 1 | 2 |\n{fence}\nafter\n"
    assert tables(text) == []
    assert [block.code for block in blocks(text) if isinstance(block, TextLine)] == [
        True,
        True,
        True,
        False,
    ]


def test_a_fence_that_is_never_closed() -> None:
    assert tables("```\n| a | b |\n|---|---|\n| 1 | 2 |\n") == []
    assert tables("text\n```\n| a | b |\n|---|---|\n") == []


def test_an_indented_block_and_a_comment() -> None:
    assert tables("text\n\n    | a | b |\n    |---|---|\n    | 1 | 2 |\n") == []
    assert tables("<!--\n| a | b |\n|---|---|\n| 1 | 2 |\n-->\n") == []


def test_headings_of_both_forms() -> None:
    text = "One\n===\n\nTwo\nmore\n---\n\n### Three ###\n\n#no heading\n"
    found = [block for block in blocks(text) if isinstance(block, Heading)]
    assert [(h.line, h.level) for h in found] == [(1, 1), (4, 2), (8, 3)]
    assert found[2].text == "Three"


def test_a_heading_in_a_quotation() -> None:
    (heading,) = blocks("> ## Results\n")
    assert heading == Heading(1, 2, "Results")


PARTS = st.sampled_from(
    [
        "| a | b |", "|---|---|", "| --- |", "| 1 | 2 |", "", "", "# h", "text", "```", "~~~",
        "> | a | b |", "> |---|---|", "- item", "    code", "===", "---", "|", "||", "\\|", "<!--",
        "-->", "| - | - |", "a | b", "\t| a |", "\r", "1. x",
    ]
)  # fmt: skip


@given(st.one_of(st.lists(PARTS, max_size=14).map("\n".join), st.text(max_size=200)))
@example("> |a|b|\n> |-|-|\n")
@example("```")
@example("\x0b|\x0c|\n|-|-|\n")
@example("|a|b|\n|--|--|\n\n|c|d|\n|--|--|")
@example("a\u2028| b |\n|--|--|")
def test_any_text_has_blocks_in_order(text: str) -> None:
    lines = text.split("\n")
    last = 0
    for block in blocks(text):
        if isinstance(block, Table):
            rows = [block.header, *block.rows]
            for row in rows:
                assert all(cell in lines[row.line - 1] for cell in row.cells)
            assert block.header.line > last
            assert [row.line for row in rows] == sorted({row.line for row in rows})
            last = block.last_line
        else:
            assert block.line > last
            last = block.line
            if isinstance(block, TextLine):
                assert block.text == lines[block.line - 1].removesuffix("\r")
    assert last <= len(lines)
