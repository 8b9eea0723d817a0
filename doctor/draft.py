"""Drafts a format for lines of one shape: names of its numbers, and the row of a sample."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import tomlkit
from tomlkit.items import InlineTable, String

from ..ingest.logs.dialect import Dialect, claimant, declared
from ..ingest.logs.drafted import checked, field_of, hint_of
from ..ingest.logs.drafted import pattern_of as pattern_of_words
from ..ingest.logs.number_names import Number, numbers_of
from ..schema.errors import BenchError
from .shapes import Shape, numbers_below, pattern_of, separator_of

SAMPLES = 2


def draft(shape: Shape, source: str, known: Sequence[Dialect]) -> str:
    """Draft a format file for the shape, tested on its lines; `source` is that of the first line.

    Raises BenchError for lines without a named number, or if another format matches them too.
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
    proof = None
    if not cells:
        found = checked(lines, shape.dates, numbers)
        numbers, proof = list(found.numbers), found.proof
    document = _head(shape, source, numbers, proof)
    pattern = pattern_of(lines[0], numbers) if cells else pattern_of_words(lines[0], numbers)
    document.append("pattern", _text(pattern))
    document["hint"] = separator_of(lines[0]) if cells else hint_of(lines[0], numbers)
    groups = tomlkit.table()
    for number in numbers:
        groups.append(number.group, _field(number))
    document.append("groups", groups)
    return _proved(document, lines, source, known)


def _head(
    shape: Shape, source: str, numbers: Sequence[Number], proof: str | None
) -> tomlkit.TOMLDocument:
    columns = {number.column for number in numbers}
    document = tomlkit.document()
    document.add(tomlkit.comment(f"Drafted from {shape.count} lines, the first at {source}."))
    document.add(tomlkit.comment("Review title, url, columns and units; they are guesses."))
    proved = f"Proved by the lines themselves: {proof}."
    unproved = "No equation of the lines proves the columns: compare them with what you know."
    document.add(tomlkit.comment(proved if proof else unproved))
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
    for word, value in field_of(number).items():
        field.append(word, value)
    return field


def _proved(
    document: tomlkit.TOMLDocument, lines: Sequence[str], source: str, known: Sequence[Dialect]
) -> str:
    """The draft with samples and the rows they produce, tested on all lines."""
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


def _text(text: str) -> String:
    """A TOML string, literal where possible."""
    plain = text.replace("\n", "").isprintable() and "'" not in text
    return tomlkit.string(text, literal=plain, multiline="\n" in text)
