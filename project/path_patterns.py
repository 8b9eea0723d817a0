"""`[[paths]]` of bench.toml: columns encoded in the names of directories and files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ..schema.annotatable import annotatable_fields, parse_value, unknown_field
from ..schema.errors import BenchError
from ..vocabulary.wildcards import is_quick

_HOLE = re.compile(r"\{(\w*)(?::(\w+))?\}|\*")
_MOST_STARS = 4  # of one name
_KINDS = {"int": r"(?<!\d)\d+(?!\d)", "word": r"[^/]+?"}
_EXAMPLE = (
    'pattern = "dp-{dp}_tp-{tp}_pp-{pp}/", example = "runs/dp-2_tp-4_pp-8/train.log", '
    "gives = { dp = 2, tp = 4, pp = 8 }"
)


@dataclass(frozen=True, slots=True)
class PathPattern:
    """One declared pattern: names of folders, the last of a file unless it ends with a slash."""

    pattern: str
    example: str
    gives: tuple[tuple[str, str], ...]
    line: int = 1

    def values(self, path: str) -> dict[str, str] | None:
        """The values in a path; None if it does not match, or matches ambiguously."""
        names = [name for name in path.split("/") if name not in ("", ".")]
        parts = _compiled(self.pattern)
        last = len(names) - (1 if self.pattern.endswith("/") else 0)
        found: list[dict[str, str]] = []
        for start in range(last - len(parts) + 1):
            matches = [
                part.fullmatch(name) if is_quick(open_holes, name) else None
                for (part, open_holes), name in zip(parts, names[start:], strict=False)
            ]
            if all(matches):
                groups = [match.groupdict() for match in matches if match]
                found.append({name: text for group in groups for name, text in group.items()})
        return found[0] if found and all(one == found[0] for one in found) else None


def checked(
    pattern: str, example: str, gives: Mapping[str, object], where: str, line: int
) -> PathPattern:
    """A pattern checked against its own example; raises BenchError, with the line."""
    for hole in _HOLE.finditer(pattern):
        name, kind = hole.groups()
        if name and name not in annotatable_fields():
            raise unknown_field(name, where)
        if kind and kind not in _KINDS:
            raise BenchError(f"unknown type {kind!r} in a path pattern", where=where,
                             hint=f"{{{name}:int}}, {{{name}:word}} or {{{name}}}")  # fmt: skip
    names = [hole[1] for hole in _HOLE.finditer(pattern) if hole[1]]
    if not names or len(set(names)) < len(names):
        what = "has no column" if not names else "repeats a column"
        raise BenchError(f"the pattern {pattern!r} {what}", where=where, hint=_EXAMPLE)
    if any(part.count("*") > _MOST_STARS for part in pattern.split("/")):
        raise BenchError(f"the pattern {pattern!r} has too many *", where=where, hint=_EXAMPLE)
    declared = {name: parse_value(name, str(value), where) for name, value in gives.items()}
    path_pattern = PathPattern(pattern, example, tuple(sorted(declared.items())), line)
    found = path_pattern.values(example)
    if found is None:
        raise BenchError(f"the pattern {pattern!r} does not match its example", where=where,
                         why=f"the example is {example!r}", hint=_EXAMPLE)  # fmt: skip
    typed = {name: parse_value(name, text, where) for name, text in found.items()}
    if typed != declared:
        listed = ", ".join(f"{name} = {_toml(name, value)}" for name, value in typed.items())
        raise BenchError(f"the pattern {pattern!r} yields other values for its example",
                         where=where, hint=f"gives = {{ {listed} }}")  # fmt: skip
    return path_pattern


@cache
def _compiled(pattern: str) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    """The regex of each name, and the text that follows each unrestricted placeholder."""
    return tuple(_part(part) for part in pattern.strip("/").split("/"))


def _part(part: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    made, end = "", 0
    open_holes: list[str] = []
    for hole in _HOLE.finditer(part):
        made += re.escape(part[end : hole.start()])
        name, kind = hole.groups()
        of_text = bool(name) and annotatable_fields()[name].type in ("VARCHAR", "BOOLEAN", "DOUBLE")
        fits = _KINDS[kind or ("word" if of_text else "int")]
        made += "[^/]*?" if hole[0] == "*" else f"(?P<{name}>{fits})" if name else "[^/]+?"
        end = hole.end()
        if hole[0] == "*" or not name or fits != _KINDS["int"]:
            open_holes.append(_HOLE.split(part[end:], maxsplit=1)[0])
    return re.compile(made + re.escape(part[end:])), tuple(open_holes)


def _toml(name: str, value: str) -> str:
    return value if annotatable_fields()[name].type in ("INTEGER", "BIGINT") else f'"{value}"'
