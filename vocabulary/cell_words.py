"""Cells of columns of words: size labels, flags, notes, links."""

from __future__ import annotations

import re
from dataclasses import replace

from .cell import Cell, of_text
from .cell_pieces import Piece, closing_marks, number_piece
from .headings import Column
from .sizes import count_of, giga_of, parse_size

_DATE = (
    r"\b\d{4}-\d\d-\d\d\b|(?<![\d/-])(?:0?[1-9]|1[0-2])[-/](?:0?[1-9]|[12]\d|3[01])"
    r"(?![\d/-]|\s+(?i:gpu|node|rank|layer|device|core)s?\b)"
)
# Six to nine digits after a word for a job, or alone between commas.
_JOB = r"(?:(?<=job )|(?<=id )|(?<=#))\d{6,9}\b|(?:(?<=,)|(?<=, )|^)\d{6,9}(?=\s*(?:[,;)]|$))"
# [842](https://example.org)
LINK = re.compile(r"^(\[)(?!\^)([^\[\]\n]+)(\]\([^\s()]*(?:\([^\s()]*\)[^\s()]*)*(?:\s[^()]*)?\))$")
_LINK_WITHIN = re.compile(r"!?\[([^\[\]]{1,80})\]\([^()]{0,300}\)")
_SELECTIVE = re.compile(r"selective\b.{0,20}$|(?:per-?op )?sac$")
_YES = {
    "recompute": 1.0,
    "yes": 1.0,
    "y": 1.0,
    "true": 1.0,
    "t": 1.0,
    "on": 1.0,
    "full": 1.0,
    "✓": 1.0,
    "✅": 1.0,
    "✔": 1.0,
    "✔️": 1.0,
    "1": 1.0,
}
_NO = dict.fromkeys(("no", "n", "false", "f", "off", "none", "✗", "✘", "❌", "0"), 0.0)


def switched(text: str) -> bool | None:
    """Whether the whole cell means yes or no; None for any other text."""
    value = {**_YES, **_NO}.get(text.strip("*`_ ").lower())
    return None if value is None or text.strip().isdigit() else bool(value)


def is_link(text: str) -> bool:
    """Whether the whole text is a link."""
    return bool(LINK.match(text.strip()) or re.fullmatch(r"https?://\S+", text.strip()))


def without_links(text: str) -> str:
    """A text of markdown with what its links show in their place."""
    return _LINK_WITHIN.sub(r"\1", text)


def label(raw: str, column: Column) -> Cell:
    """A size label: value in 1e9 parameters."""
    if re.fullmatch(r"-*|–|—|x+|n/?a|\s*", raw, re.I):
        return Cell(raw, "missing", pieces=(["missing", raw],) if raw else ())
    text, found = closing_marks(raw)
    pieces: list[Piece] = [["word", text]]
    pieces += [["mark", mark] for mark in found]
    if link := LINK.match(text.strip()):
        text = link[2]
    value = parse_size(text) or giga_of(text) or count_of(text, column.unit)
    return Cell(raw, "label", value=value, text=text.strip(), marks=found, pieces=tuple(pieces))


def flag(raw: str, column: Column) -> Cell:
    """Yes or no: 1 or 0; a kind of recompute keeps its text."""
    word = raw.strip().casefold()
    if not word or word in ("-", "–", "n/a"):
        return Cell(raw, "missing", pieces=(["missing", raw],) if raw else ())
    value = _YES.get(word, _NO.get(word))
    if value is None:
        return replace(of_text(raw), kind="flag" if _SELECTIVE.match(word) else "text")
    return Cell(raw, "flag", value=value, text=raw, pieces=(["word", raw],))


def notes(raw: str, column: Column) -> Cell:
    """Free text, with dates, job ids and a memory at its start."""
    pieces: list[Piece] = []
    end = 0
    for match in re.finditer(
        rf"(?P<date>{_DATE})|(?P<job>{_JOB})|^(?P<memory>\d+(?:\.\d+)?)(?P<gap>\s*)(?P<unit>[KMGT]i?B)\b",
        raw,
    ):
        if match.start() > end:
            pieces.append(["word", raw[end : match.start()]])
        if match["memory"]:
            pieces.append(number_piece(match["memory"]))
            pieces += [["gap", match["gap"]]] if match["gap"] else []
            pieces.append(["unit", match["unit"]])
        else:
            pieces.append(["date" if match["date"] else "job", match[0]])
        end = match.end()
    if end < len(raw):
        pieces.append(["word", raw[end:]])
    return Cell(raw, "text", text=raw, pieces=tuple(pieces))
