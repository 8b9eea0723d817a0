"""A dialect's TOML file, checked word by word and made into its reader."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources.abc import Traversable

from ..schema.errors import BenchError
from .cast import CASTS
from .pattern import Pattern
from .record import Field
from .segments import Losses, Segments

# What a record is for; `log.py` has one handler for each.
KINDS = frozenset({
    "iteration", "header", "parameters", "argument", "block", "event", "evaluation", "failure",
    "cause", "end",
})  # fmt: skip
WORDS = frozenset({
    "title", "url", "reads", "framework", "hint", "pattern", "anchor", "assign", "groups", "keys",
    "requires", "losses", "set", "opens", "closes", "within", "starts_run", "refines", "sample",
})  # fmt: skip
NEEDED = ("title", "url", "reads", "hint", "sample")
FIELD_WORDS = frozenset({
    "column", "type", "shift", "unit",
})  # fmt: skip
SAMPLE_WORDS = frozenset({
    "line", "source", "row",
})  # fmt: skip

Toml = Mapping[str, object]


def parse(file: Traversable) -> Toml:
    """The declaration in a file; an unknown, missing or misused word is an error."""
    try:
        toml: Toml = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise broken(file, "it is no TOML", str(error)) from error
    only(file, "the file", toml, WORDS)
    for word in NEEDED:
        if not toml.get(word):
            raise broken(file, f"`{word}` is missing")
    if toml["reads"] not in KINDS:
        raise broken(file, f"`reads` is {toml['reads']!r}", f"one of {', '.join(sorted(KINDS))}")
    if ("pattern" in toml) == ("anchor" in toml):
        raise broken(file, "it needs either `pattern` or `anchor`")
    return toml


def broken(file: Traversable, what: str, why: str = "") -> BenchError:
    """The error of a format file."""
    hint = "compare with another file of ingest/dialects"
    return BenchError(f"format file {file.name}: {what}", why=why, where=str(file), hint=hint)


def only(file: Traversable, place: str, words: object, known: frozenset[str]) -> None:
    """An error where a table holds a word that is not known."""
    if not isinstance(words, Mapping):
        raise broken(file, f"{place} is no table")
    for word in words:
        if word not in known:
            raise broken(file, f"{place} has the unknown word `{word}`", ", ".join(sorted(known)))


def reader(file: Traversable, toml: Toml) -> Segments | Pattern:
    """The reader that the declaration describes."""
    word = "pattern" if "pattern" in toml else "anchor"
    pattern = _regex(file, word, toml[word])
    groups = _fields(file, "groups", toml)
    for name in groups.keys() - pattern.groupindex.keys():
        raise broken(file, f"`{word}` has no group `{name}`")
    groups = {
        name: _in_own_column(name, groups.get(name, Field(None))) for name in pattern.groupindex
    }
    if word == "pattern":
        for name in ("keys", "requires", "losses", "assign"):
            if name in toml:
                raise broken(file, f"`{name}` goes with `anchor`, not with `pattern`")
        return Pattern(pattern, groups)
    keys = _fields(file, "keys", toml)
    requires = tuple(frozenset(group) for group in texts_of_texts(file, toml))
    return Segments(
        pattern, groups, keys, requires, _losses(file, toml), str(toml.get("assign", ":"))
    )


def _regex(file: Traversable, word: str, text: object) -> re.Pattern[str]:
    try:
        return re.compile(str(text))
    except re.error as error:
        raise broken(file, f"`{word}` is no regular expression", str(error)) from error


def _in_own_column(name: str, spec: Field) -> Field:
    return spec if spec.column else replace(spec, column=name)


def _fields(file: Traversable, word: str, toml: Toml) -> dict[str, Field]:
    declared = toml.get(word, {})
    if not isinstance(declared, Mapping):
        raise broken(file, f"`{word}` is no table")
    return {name: _field(file, f"`{word}.{name}`", spec) for name, spec in declared.items()}


def _field(file: Traversable, place: str, spec: Toml) -> Field:
    only(file, place, spec, FIELD_WORDS)
    sql_type = str(spec.get("type", "varchar"))
    if sql_type not in CASTS:
        raise broken(file, f"{place} has the unknown type `{sql_type}`", ", ".join(sorted(CASTS)))
    shift = spec.get("shift", 0)
    if not isinstance(shift, int) or (shift and sql_type != "double"):
        raise broken(file, f"{place}: `shift` is a whole number, for type double")
    column, unit = (str(spec[word]) if word in spec else None for word in ("column", "unit"))
    return Field(column, sql_type, shift, unit)


def _losses(file: Traversable, toml: Toml) -> Losses | None:
    if "losses" not in toml:
        return None
    declared = toml["losses"]
    only(file, "`losses`", declared, frozenset(("after", "main")))
    assert isinstance(declared, Mapping)
    after, main = (declared.get(word, []) for word in ("after", "main"))
    return Losses(texts(file, "losses.after", after), texts(file, "losses.main", main))


def texts(file: Traversable, place: str, value: object) -> tuple[str, ...]:
    """A list of texts, or one text, as a tuple."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise broken(file, f"`{place}` is no list of texts")
    return tuple(value)


def texts_of_texts(file: Traversable, toml: Toml) -> list[tuple[str, ...]]:
    """`requires`: groups of keys; a line needs one of each group."""
    groups = toml.get("requires", [])
    if not isinstance(groups, list):
        raise broken(file, "`requires` is no list")
    return [texts(file, "requires", group) for group in groups]
