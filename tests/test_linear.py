"""What reads text of strangers takes time like its length: four times the text, not 16 times."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable
from functools import partial

import pytest

from bench.explain import target
from bench.ingest.documents import context
from bench.ingest.documents.document import read_document
from bench.ingest.documents.tables import read_markdown
from bench.ingest.logs import number_names
from bench.launch import reading
from bench.reports import escape, regions
from bench.vocabulary import heading_units, heading_words, headings, settings
from bench.vocabulary.cells import parse_cell
from bench.vocabulary.headings import columns, columns_of

SHORT = 2000  # characters, and four times as many
SQUARE = 11.0  # times as long for four times the text: linear is 4, the square 16
SOON = 0.004  # s of processor time: too short to be told from noise
CELLS = sorted({column.type: name for name, column in columns().items()}.values())


def _cell(name: str, text: str) -> object:
    return parse_cell(text, columns()[name])


ENTRIES: dict[str, Callable[[str], object]] = {
    "ask sides": target._SIDES.fullmatch,
    "ask place": target._PLACE.fullmatch,
    "plan table": reading._TABLE.match,
    "block": escape.BLOCK.match,
    "numbered": escape.NUMBERED.match,
    "marker end": regions._CLOSED.match,
    "marker span": lambda text: regions._SPAN.sub("", text),
    "marker option": regions._OPTION.match,
    "at step": lambda text: heading_words._AT_STEP.sub("", text),
    "per step": lambda text: heading_units._PER_STEP.sub("", text),
    "count of": headings._COUNT_OF.match,
    "settings": settings.settings_of,
    "setting pieces": settings.setting_pieces,
    "model": context._MODEL.match,
    "heading": lambda text: columns_of([text]),
    **{f"cell of {name}": partial(_cell, name) for name in CELLS},
}
REPEATS = (
    *(" ", "\n", "a", "0", "(", "[", "-", "--> ", "a ", "0 ", "( ", "[ ", "- ", " / ", "a=", '"'),
    *("a,", ", ", "`", "` ``", "1-1 ", "@step1 ", "step ", "/it ", ":1", "=", "*", ".0"),
)
FRONTS = ("", "a", "[", "(", "a=", 'a="', '"a=', "with ", "no ", " ", "model: ", "1 ", "- ", "#")
ENDS = ("", "!", "\nx", ";", "\x00")


SPANS = "<td colspan=100 rowspan=100>7B" * 100
DOCUMENTS: dict[str, Callable[[int], str]] = {
    "sentences of subjects": lambda n: "# T\n" + "".join(
        f"Eager{at} uses MBS {at}, and flash uses MBS {at + 1}.\n\n" for at in range(n // 2)),
    "settings": lambda n: "# T\n" + "".join(f"- TP: {at}\n" for at in range(n)),
    "small tables": lambda n: "Model,TP,TFLOPs\n7B,4,100\n\n" * (n // 3),
    "one paragraph": lambda n: "# T\n" + "we use TP 4 and PP 2, batch size 8\n" * n,
    "one sentence": lambda n: "# T\n" + "".join(
        f"We use {at} A100 GPUs with TP {at}\n" for at in range(4 * n)),
    "one sentence a line": lambda n: "# T\n" + "".join(
        f"We use {at} A100 GPUs with TP {at}.\n" for at in range(4 * n)),
    "tables in tables": lambda n: "<table><tr><td>\n" * n + "</td></tr></table>\n" * n,
    "columns without headings": lambda n: "```\n" + "a 1 | b: 2 | c: 3\n" * n + "```\n",
    "lists of one cell": lambda n: "* - a\n" * n,
    "rows of a mean": lambda n: "| Step | Loss |\n|--|--|\n" + "| mean | 1 |\n" * 4 * n,
    "rules in code": lambda n: "```\n" + "- | -\n" * 4 * n + "```\n",
    "a grid that is none": lambda n: "+-+\n" * n,
    "rows of a grid that is none": lambda n: "+-+-+\n| a | b |\n" * n + "+-+\n",
    "configurations by name": lambda n: (
        "| Config | TP | PP |\n|--|--|--|\n| A | 1 | 1 |\n| B | 2 | 1 |\n\n"
        "| Config | TFLOPs |\n|--|--|\n| A | 1 |\n| C | 2 |\n\n") * (n // 4),
    "tables that end once": lambda n: "\\begin{tabular}{l}\n" * n + "\\end{tabular}\n",
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_takes_time_as_its_lines(name: str) -> None:
    short, long = DOCUMENTS[name](400), DOCUMENTS[name](1600)
    read_document(short)
    limit = 8 * used(read_document, short)  # linear is 4
    assert any(used(read_document, long) < limit for _ in range(2))


def test_a_table_takes_time_as_its_headings() -> None:
    short, long = ("# T\n" + "".join(f"{cell * n}|\n" for cell in ("|", "|-", "|1"))
                   for n in (2000, 8000))  # fmt: skip
    read = partial(read_markdown, source_id="s")
    read(short)
    limit = 8 * used(read, short)  # linear is 4
    assert any(used(read, long) < limit for _ in range(2))


def test_every_line_of_a_document_does_not_keep_all_that_is_stated() -> None:
    text = "# T\n" + "".join(f"- TP: {at}\n" for at in range(2000))
    kept = {id(one.facts): len(one.facts) for one in read_document(text).quotes}
    assert sum(kept.values()) < 60_000


def test_spans_make_no_more_cells_than_characters() -> None:
    """3 KB of cells that span 100 columns and 100 rows were a million cells."""
    found = read_document(f"<table><tr>{SPANS}\n{'<tr>' * 100}\n</table>\n").tables
    assert sum(len(row.cells) for one in found for row in one.table.rows) < 4000


@pytest.mark.parametrize("name", ENTRIES)
def test_time_is_as_the_length(name: str) -> None:
    read = ENTRIES[name]
    slow = []
    gc.disable()
    try:
        for front in FRONTS:
            for repeat in REPEATS:
                for end in ENDS:
                    if is_superlinear(read, front, repeat, end):
                        slow.append(front + repeat * 3 + end)
                        if len(slow) > 3:
                            raise AssertionError(slow)
    finally:
        gc.enable()
    assert not slow


def is_superlinear(read: Callable[[str], object], front: str, repeat: str, end: str) -> bool:
    """Tried on short texts first: what takes the cube of its length would never end."""
    for size in (SHORT // 16, SHORT // 4, SHORT):
        short, long = (front + repeat * (many // len(repeat)) + end for many in (size, 4 * size))
        if (first := used(read, long)) < SOON:
            continue
        limit = SQUARE * min(used(read, short) for _ in range(3))
        if first > limit and all(used(read, long) > limit for _ in range(2)):
            return True
    return False


def used(read: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    read(text)
    return time.process_time() - begun


def test_it_would_be_told() -> None:
    assert is_superlinear(re.compile(r"\s+$").search, "", " ", "!")
    assert not is_superlinear(re.compile(r"\s+x").match, "", " ", "!")


def test_the_name_before_a_number_is_found_soon() -> None:
    """At most 200 characters of it are read: the square of that is little, the cube is not."""
    text = "a" + " " * (number_names._NEAR - 2) + "!"
    assert min(used(number_names._NAME.search, text) for _ in range(3)) < 0.005


def test_brackets_of_a_heading() -> None:
    """The longest heading that is read, of what had taken the cube of its length."""
    for text in ("(" + " " * (headings.LONGEST - 2) + "!", "(" * headings.LONGEST):
        assert min(used(heading_units.IN_BRACKETS.search, text) for _ in range(3)) < 0.2


def test_what_is_too_long_is_kept() -> None:
    text = "1 " * headings.LONGEST
    cell = parse_cell(text, columns()["tp"])
    assert (cell.kind, cell.raw, cell.rebuilt()) == ("misfit", text, text)
    assert cell.invalid and cell.invalid.startswith("too long")
    assert columns_of(["TP" + " " * headings.LONGEST]) == [None]
