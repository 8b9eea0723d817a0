"""A format drafted for lines of one shape: what each number is called, and the row it gives."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tomlkit
from tomlkit.items import InlineTable, String

from ..ingest.dialect import Dialect, claimant, declared
from ..schema.errors import BenchError
from ..vocabulary.measuring import NUMBER
from .names import Number, name_before, numbers_of
from .separated import numbers_below, pattern_of, separator_of
from .shapes import RANKED_DIGITS, Shape

SAMPLES = 2
_NUMBER = r"(?i:[-+]?(?:\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?[KMGBT]?|nan(?:\.0)?|inf))(?![.,]?\d)"


def draft(shape: Shape, source: str, known: Sequence[Dialect]) -> str:
    """A format file for the shape, proved on its lines; `source` says where the first stands.

    Raises BenchError for lines without a number that has a name, and when another format reads
    them too.
    """
    lines = shape.lines
    cells = bool(lines and shape.names)
    numbers = numbers_below(shape.names, lines) if cells else numbers_of(lines) if lines else []
    if not numbers:
        hint = "write a format by hand: docs/formats.md"
        if lines and separator_of(lines[0]):
            hint = (
                r"looks like CSV: use one group per column, `^(?P<iteration>\d+),(?P<loss>[^,]+)`"
            )
        raise BenchError("cannot draft a format: this shape has no named number", hint=hint)
    document = _head(shape, source, numbers)
    pattern = pattern_of(lines[0], numbers) if cells else _pattern(lines[0], numbers)
    document.append("pattern", _text(pattern))
    document["hint"] = separator_of(lines[0]) if cells else _hint(lines[0], numbers)
    groups = tomlkit.table()
    for number in numbers:
        groups.append(number.group, _field(number))
    document.append("groups", groups)
    return _proved(document, lines, source, known)


def _head(shape: Shape, source: str, numbers: Sequence[Number]) -> tomlkit.TOMLDocument:
    columns = {number.column for number in numbers}
    document = tomlkit.document()
    document.add(tomlkit.comment(f"Drafted from {shape.count} lines, the first at {source}."))
    document.add(tomlkit.comment("Review title, url, columns and units; they are guesses."))
    title = f"Lines such as: {shape.text[:60]}"
    document.append("title", _text(title))
    document.append("url", "source of the program that prints it")
    adds_values = any(not column.startswith("more.") for column in columns)
    reads = "iteration" if "iteration" in columns else "part" if adds_values else "noise"
    document.append("reads", reads)
    if reads == "part":
        advice = "No number is named as a step: name one group `iteration` (here and in reads), or"
        document.add(tomlkit.comment(advice))
        document.add(tomlkit.comment("these lines only add values to steps from other lines."))
    return document


def _field(number: Number) -> InlineTable:
    field = tomlkit.inline_table()
    if number.group != number.column:
        field.append("column", number.column)
    if number.type != "varchar":
        field.append("type", number.type)
    if number.shift:
        field.append("shift", number.shift)
        field.append("unit", {-3: "ms", -6: "us"}[number.shift])
    return field


def _proved(
    document: tomlkit.TOMLDocument, lines: Sequence[str], source: str, known: Sequence[Dialect]
) -> str:
    """The document with samples and the rows that they give."""
    samples = tomlkit.aot()
    for place, line in enumerate(lines[:SAMPLES]):
        sample = tomlkit.table()
        sample.append("line", _text(line))
        sample.append("source", source if place == 0 else f"{source}, another line")
        sample.append("row", tomlkit.inline_table())
        samples.append(sample)
    document.append("sample", samples)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "draft.toml"
        file.write_text(document.as_string(), encoding="utf-8")
        made = declared(file)
    lost = [line for line in lines if made.read(line) is None]
    if lost:
        hint = "write a format by hand: docs/formats.md"
        raise BenchError("the draft does not match every line of the shape", why=lost[0], hint=hint)
    for sample, line in zip(samples, lines, strict=False):
        record = made.read(line)
        assert record is not None
        row = tomlkit.inline_table()
        for name, value in record.fields.items():
            row.append(name, value)
        sample["row"] = row
    for proof in made.samples:
        other = claimant(known, made, proof)
        if other is not None:
            hint = "see bench show LOG"
            raise BenchError(f"these lines already match {other}", why=proof.line, hint=hint)
    return document.as_string()


def _pattern(line: str, numbers: Sequence[Number]) -> str:
    """From the word in front of the first number to the last one: groups, and the text between."""
    first = line[: numbers[0].start]
    name = name_before(first, False)
    start = first.rindex(name) if name else len(first)
    parts = ["(?x)"]
    for number in numbers:
        edge = r"\b" if len(parts) == 1 and line[start : start + 1].isalpha() else ""
        parts.append(f"{edge}{_literal(line[start : number.start])}(?P<{number.group}>{_NUMBER})")
        start = number.end
    return "\n  ".join(parts) + "\n"


def _literal(text: str) -> str:
    """Text as a pattern: other numbers in it, and any run of blanks."""
    pieces = NUMBER.split(text)
    escaped = (r"\s+".join(map(_word, re.split(r"\s+", one))) for one in pieces)
    joined = f"(?:{_NUMBER})".join(escaped)
    return re.sub(r"(?<!\\)\\s\+$", r"\\s*", joined)


def _word(word: str) -> str:
    """A word as a pattern: ranks print the same line."""
    return r"\d+".join(re.escape(part) for part in re.split(RANKED_DIGITS, word))


def _hint(line: str, numbers: Sequence[Number]) -> str:
    """The longest word that stands on every line of the shape, within the pattern."""
    text = line[: numbers[-1].start]
    words = [part for piece in NUMBER.split(text) for word in piece.split()
             for part in re.split(RANKED_DIGITS, word)]  # fmt: skip
    return max(words, key=len, default="") or line[numbers[0].start - 1]


def _text(text: str) -> String:
    """A text without escapes where TOML can write it so."""
    plain = text.replace("\n", "").isprintable() and "'" not in text
    return tomlkit.string(text, literal=plain, multiline="\n" in text)
