"""A dialect's TOML file: its keys are checked, and its reader is built."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources.abc import Traversable
from pathlib import Path

from ...schema.errors import BenchError
from ...vocabulary.regular_files import read_text
from ...vocabulary.toml import TOMLDecodeError
from ...vocabulary.toml import loads as decoded
from ..cast import CASTS
from .named_numbers import NamedNumbersReader
from .readers import ObjectReader, PairsReader, PatternReader
from .record import Field
from .segments import Losses, Segments
from .settings import Settings

Reader = Segments | PatternReader | PairsReader | ObjectReader | NamedNumbersReader | Settings

# The kinds of records; `log.py` has one handler for each.
KINDS = frozenset({
    "iteration", "part", "header", "parameters", "argument", "block", "event", "evaluation",
    "failure", "cause", "stop", "end", "timers", "memory", "env", "command", "noise",
    "measurement",
})  # fmt: skip
KEYS = frozenset({
    "title", "url", "reads", "like", "framework", "hint", "pattern", "anchor", "pair", "form",
    "assign", "separator", "unterminated", "unmarked", "nested_key", "ends", "groups", "keys",
    "requires", "losses", "set", "opens", "closes", "within", "scope", "quiet", "starts_run",
    "secondary", "buffered", "every_rank", "progress_bar", "exclusive", "precedes_step",
    "refines", "sample", "settings_of", "grouped", "from_zero",
})  # fmt: skip
# Earlier names of keys, which users' own formats may have; accepted for one version.
FORMER_KEYS = {
    "leads": "precedes_step", "alone": "exclusive", "planned": "progress_bar",
    "doubled": "nested_key", "bare": "unmarked", "open_end": "unterminated",
}  # fmt: skip
# The keys that a format inherits from the one it is `like`.
INHERITED = (
    "framework", "hint", "anchor", "assign", "separator", "unterminated", "unmarked", "ends",
    "groups", "keys", "losses",
)  # fmt: skip
NEEDED = ("title", "url", "reads", "hint", "sample")
FIELD_KEYS = frozenset({
    "column", "type", "shift", "unit", "add", "memory",
})  # fmt: skip
SAMPLE_KEYS = frozenset({
    "line", "source", "row",
})  # fmt: skip

Toml = Mapping[str, object]


def parse(file: Traversable, *folders: Traversable) -> Toml:
    """The declaration in a file; an unknown, missing or misused key is an error."""
    toml = loads(file)
    only(file, "the file", toml, KEYS)
    if "like" in toml:
        toml = _inherit(file, toml, folders)
    for key in NEEDED:
        if not toml.get(key):
            raise broken(file, f"`{key}` is missing")
    if toml["reads"] not in KINDS:
        raise broken(file, f"`reads` is {toml['reads']!r}", f"one of {', '.join(sorted(KINDS))}")
    if ("pattern" in toml) == ("anchor" in toml):
        raise broken(file, "it needs either `pattern` or `anchor`")
    return toml


def loads(file: Traversable) -> Toml:
    """The content of a file. Raises BenchError if it is no TOML."""
    try:
        toml = decoded(read_text(file) if isinstance(file, Path) else file.read_text("utf-8"))
    except (TOMLDecodeError, UnicodeDecodeError) as error:
        raise broken(file, "it is no TOML", str(error)) from error
    except OSError as error:
        raise broken(file, "it cannot be read", error.strerror or str(error)) from error
    return {FORMER_KEYS.get(key, key): value for key, value in toml.items()}


def _inherit(file: Traversable, toml: Toml, folders: Sequence[Traversable]) -> Toml:
    """The declaration on top of the one that it names with `like`."""
    name = f"{toml['like']}.toml"
    is_name = re.fullmatch(r"[\w-]+\.toml", name) is not None  # and no path to another file
    found = [folder.joinpath(name) for folder in folders if is_name and name != file.name]
    other = next((one for one in found if one.is_file()), None)
    if other is None:
        raise broken(file, f"`like` names no other format: {toml['like']}")
    base = loads(other)
    merged: dict[str, object] = {key: base[key] for key in INHERITED if key in base}
    for key, value in toml.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[key] = {**below, **value}
        else:
            merged[key] = value
    return merged


def broken(
    file: Traversable, what: str, why: str = "", hint: str = "compare with docs/formats.md"
) -> BenchError:
    """The error of a format file."""
    return BenchError(f"format file {file.name}: {what}", why=why, where=str(file), hint=hint)


def only(file: Traversable, place: str, keys: object, known: frozenset[str]) -> None:
    """Raises an error for a table with an unknown key."""
    if not isinstance(keys, Mapping):
        raise broken(file, f"{place} is no table")
    for key in keys:
        if key not in known:
            raise broken(file, f"{place} has the unknown key `{key}`", ", ".join(sorted(known)))


def reader(file: Traversable, toml: Toml) -> Reader:
    """The reader that the declaration describes."""
    key = "pattern" if "pattern" in toml else "anchor"
    pattern = _regex(file, key, toml[key])
    groups = _fields(file, "groups", toml)
    for name in groups.keys() - pattern.groupindex.keys():
        raise broken(file, f"`{key}` has no group `{name}`")
    groups = {
        name: _in_own_column(name, groups.get(name, Field(None))) for name in pattern.groupindex
    }
    if key == "pattern":
        _refuse(file, toml, ("keys", "requires", "losses", "assign", "pair", "form"), "anchor")
        return PatternReader(pattern, groups)
    if "pair" in toml:
        _refuse(file, toml, ("keys", "requires", "losses", "assign", "form"), "segments")
        return PairsReader(pattern, groups, _pair(file, toml))
    keys = _fields(file, "keys", toml)
    requires = tuple(frozenset(group) for group in texts_of_texts(file, toml))
    if "form" in toml:
        if toml["form"] == "named":
            columns = toml.get("columns", ())
            names = tuple(map(str, columns)) if isinstance(columns, list) else ()
            return NamedNumbersReader(pattern, keys, requires, names)
        if toml["form"] == "settings":
            of = texts(file, "settings_of", toml.get("settings_of", []))
            grouped = texts(file, "grouped", toml.get("grouped", []))
            return Settings(pattern, keys, frozenset(of), frozenset(grouped))
        if toml["form"] not in ("json", "python"):
            raise broken(file, "`form` is none of json, python, named and settings")
        return ObjectReader(pattern, groups, keys, requires, str(toml["form"]))
    return Segments(
        pattern,
        groups,
        keys,
        requires,
        _losses(file, toml),
        assign=str(toml.get("assign", ":")),
        separator=str(toml.get("separator", "|")),
        unterminated=toml.get("unterminated") is True,
        unmarked=toml.get("unmarked") is True,
        nested_key=_nested_keys(file, toml),
        ends=str(toml["ends"]) if "ends" in toml else None,
    )


def _refuse(file: Traversable, toml: Toml, keys: tuple[str, ...], other: str) -> None:
    for name in keys:
        if name in toml:
            raise broken(file, f"`{name}` goes with `{other}`, not here")


def _pair(file: Traversable, toml: Toml) -> re.Pattern[str]:
    pair = _regex(file, "pair", toml["pair"])
    if not pair.groupindex.keys() >= {"key", "value"}:
        raise broken(file, "`pair` needs the groups `key` and `value`")
    return pair


def _nested_keys(file: Traversable, toml: Toml) -> dict[str, str]:
    nested = toml.get("nested_key", {})
    if not isinstance(nested, Mapping):
        raise broken(file, "`nested_key` is no table")
    return {str(key): str(value) for key, value in nested.items()}


def _regex(file: Traversable, key: str, text: object) -> re.Pattern[str]:
    try:
        return re.compile(str(text))
    except re.error as error:
        raise broken(file, f"`{key}` is no regular expression", str(error)) from error


def _in_own_column(name: str, spec: Field) -> Field:
    return spec if spec.column else replace(spec, column=name)


def _fields(file: Traversable, key: str, toml: Toml) -> dict[str, Field]:
    declared = toml.get(key, {})
    if not isinstance(declared, Mapping):
        raise broken(file, f"`{key}` is no table")
    return {name: _field(file, f"`{key}.{name}`", spec) for name, spec in declared.items()}


def _field(file: Traversable, place: str, spec: Toml) -> Field:
    only(file, place, spec, FIELD_KEYS)
    sql_type = str(spec.get("type", "varchar"))
    if sql_type not in CASTS:
        raise broken(file, f"{place} has the unknown type `{sql_type}`", ", ".join(sorted(CASTS)))
    shift = spec.get("shift", 0)
    if not isinstance(shift, int) or (
        shift and sql_type not in ("double", "human", "first", "instant")
    ):
        raise broken(file, f"{place}: `shift` is a whole number, for type double")
    add = spec.get("add", 0)
    if not isinstance(add, int) or (add and sql_type not in ("integer", "bigint")):
        raise broken(file, f"{place}: `add` is a whole number, for whole numbers")
    keys = ("column", "unit", "memory")
    column, unit, memory = (str(spec[key]) if key in spec else None for key in keys)
    return Field(column, sql_type, shift, unit, add, memory)


def _losses(file: Traversable, toml: Toml) -> Losses | None:
    if "losses" not in toml:
        return None
    declared = toml["losses"]
    only(file, "`losses`", declared, frozenset(("after", "main", "named")))
    assert isinstance(declared, Mapping)
    after, main = (declared.get(key, []) for key in ("after", "main"))
    named = str(declared["named"]) if "named" in declared else None
    return Losses(texts(file, "losses.after", after), texts(file, "losses.main", main), named)


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
