"""A format drafted for lines of one shape: what each number is called, and the row it gives."""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import tomlkit
from tomlkit.items import InlineTable, String

from ..ingest.dialect import Dialect, claimant, declared
from ..schema.errors import BenchError
from .shapes import NUMBER, Shape

SAMPLES = 2
_NAME = re.compile(r"([A-Za-z][\w/ .()-]*?)\s*[:=(\[]?\s*$")
_SHIFTS = {"ms": -3, "msec": -3, "us": -6, "µs": -6}
_UNIT = re.compile(r"\s?(ms|msec|us|µs|s|sec|secs|seconds|min)\b")
_NUMBER = r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?|nan|inf"
_FILLERS = re.compile(r"^(?:at|after|in|the|is|of)\s+")


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a line: where it stands, the group it becomes, and what it is to us."""

    start: int
    end: int
    group: str | None
    column: str | None
    type: str = "varchar"
    shift: int = 0


def draft(shape: Shape, source: str, known: Sequence[Dialect]) -> str:
    """A format file for the shape, proved on its lines; `source` says where the first stands.

    Raises BenchError for lines without a number that has a name, and when another format reads
    them too.
    """
    lines = [line for line in shape.lines if _numbers(line)]
    if not lines:
        hint = "docs/formats.md shows how to write a format by hand"
        raise BenchError("nothing to draft from: no number of this shape has a name", hint=hint)
    numbers = _numbers(lines[0])
    document = _head(shape, source, numbers)
    document.append("pattern", _text(_pattern(lines[0], numbers)))
    document["hint"] = _hint(lines[0], numbers)
    groups = tomlkit.table()
    for number in numbers:
        if number.column:
            groups.append(str(number.group), _field(number))
    if groups:
        document.append("groups", groups)
    return _proved(document, lines, source, known)


def _head(shape: Shape, source: str, numbers: Sequence[Number]) -> tomlkit.TOMLDocument:
    columns = {number.column for number in numbers}
    document = tomlkit.document()
    document.add(tomlkit.comment(f"Drafted from {shape.count} lines, the first at {source}."))
    document.add(tomlkit.comment("Look over title, url, columns and units; they are guesses."))
    title = f"Lines such as: {shape.text[:60]}"
    document.append("title", _text(title))
    document.append("url", "where the program that prints it is")
    told = any(column and not column.startswith("more.") for column in columns)
    reads = "iteration" if "iteration" in columns else "part" if told else "noise"
    document.append("reads", reads)
    return document


def _field(number: Number) -> InlineTable:
    field = tomlkit.inline_table()
    if number.group != number.column:
        field.append("column", number.column)
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
    for sample, line in zip(samples, lines, strict=False):
        record = made.read(line)
        if record is None:
            raise BenchError("the draft does not read its own line", why=line)
        row = tomlkit.inline_table()
        for name, value in record.fields.items():
            row.append(name, value)
        sample["row"] = row
    for proof in made.samples:
        other = claimant(known, made, proof)
        if other is not None:
            hint = "bench show LOG tells what it makes of them"
            raise BenchError(f"these lines are read as {other}", why=proof.line, hint=hint)
    return document.as_string()


def _numbers(line: str) -> list[Number]:
    """The numbers with a name, each name once."""
    found: list[Number] = []
    taken: set[str] = set()
    end = 0
    for match in NUMBER.finditer(line):
        number = _number(line, line[end : match.start()], match, found)
        end = match.end()
        if number and number.group not in taken:
            taken.add(str(number.group))
            found.append(number)
    return found


def _number(
    line: str, before: str, match: re.Match[str], earlier: Sequence[Number]
) -> Number | None:
    if before.strip() == "/" and earlier and earlier[-1].column == "iteration":
        return Number(match.start(), match.end(), "train_iters", "train_iters", "bigint")
    named = _NAME.search(re.split(r"[|;,]", before)[-1])
    if named is None:
        return None
    name = _FILLERS.sub("", named[1].strip())
    word = _words().get(_plain(name))
    unit = _UNIT.match(line, match.end())
    if word is None:
        group = re.sub(r"\W+", "_", name.casefold()).strip("_")[:40]
        kept = f"more.{group}"  # kept as printed
        return Number(match.start(), match.end(), group, kept) if group else None
    column, kind, assumed = word
    shift = _shift(name, unit[1] if unit else "") if assumed else 0
    return Number(match.start(), match.end(), column, column, kind, shift)


def _shift(name: str, unit: str) -> int:
    inside = re.search(r"(?:\(|_|\b)(ms|msec|us|µs)\)?$", name)
    return _SHIFTS.get(unit, _SHIFTS.get(inside[1], 0) if inside else 0)


def _pattern(line: str, numbers: Sequence[Number]) -> str:
    """From the word in front of the first number to the last one: groups, and the text between."""
    first = line[: numbers[0].start]
    named = _NAME.search(re.split(r"[|;,]", first)[-1])
    start = len(first) - len(named[0]) if named else len(first)
    parts = ["(?x)"]
    for number in numbers:
        edge = r"\b" if len(parts) == 1 and line[start : start + 1].isalpha() else ""
        parts.append(f"{edge}{_literal(line[start : number.start])}(?P<{number.group}>{_NUMBER})")
        start = number.end
    return "\n  ".join(parts) + "\n"


def _literal(text: str) -> str:
    """Text as a pattern: other numbers in it, and any run of blanks."""
    pieces = NUMBER.split(text)
    escaped = (r"\s+".join(re.escape(word) for word in re.split(r"\s+", one)) for one in pieces)
    joined = f"(?:{_NUMBER})".join(escaped)
    return re.sub(r"(?<!\\)\\s\+$", r"\\s*", joined)


def _hint(line: str, numbers: Sequence[Number]) -> str:
    """The longest word that stands on every line of the shape, within the pattern."""
    text = line[: numbers[-1].start]
    words = [word for piece in NUMBER.split(text) for word in piece.split()]
    return max(words, key=len, default="") or line[numbers[0].start - 1]


def _text(text: str) -> String:
    """A text without escapes where TOML can write it so."""
    plain = text.replace("\n", "").isprintable() and "'" not in text
    return tomlkit.string(text, literal=plain, multiline="\n" in text)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.casefold())


@cache
def _words() -> dict[str, tuple[str, str, str | None]]:
    text = (files(__package__ or "bench.doctor") / "words.toml").read_text("utf-8")
    return {
        name: (word["column"], word["type"], word.get("unit"))
        for word in tomllib.loads(text)["word"]
        for name in word["names"]
    }
