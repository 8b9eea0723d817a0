"""The statements of a sidecar, line by line; columns only where it gives one value."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...schema.annotatable import parse_value
from ...schema.errors import BenchError
from ...vocabulary.fields import named
from ...vocabulary.package_toml import declared
from ...vocabulary.secrets import redact, redact_text
from ..cast import is_absent
from ..logs.header import declared_arguments

COLUMN = "column"  # the scope of a value of a typed column
LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Statement:
    """A name and its value, the part of the file that states it, and the line."""

    name: str
    value: str
    scope: str
    line: int


@functools.cache
def names(section: str) -> Mapping[str, str]:
    """A section of sidecars.toml."""
    found: Mapping[str, str] = declared(__package__ or "bench.ingest.sidecars", "sidecars.toml")[
        section
    ]
    return found


@dataclass(slots=True)
class Statements:
    """The statements of a file, in order; a column with two values has none."""

    statements: list[Statement] = field(default_factory=list)
    columns: dict[str, list[Statement]] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)  # that were read

    def add(self, name: str, value: str, scope: str, line: int) -> None:
        """Add a statement; secrets are redacted."""
        plain = redact(name, redact_text(value.strip())[:LONGEST])
        self.statements.append(Statement(name, plain, scope, line))
        self.lines.add(line)

    def column(self, name: str, value: str, line: int) -> None:
        """A column; a value of another type is ignored."""
        try:
            text = parse_value(name, value)
        except BenchError:
            return
        self.columns.setdefault(name, []).append(Statement(name, redact_text(text), COLUMN, line))
        self.lines.add(line)

    def arguments(self, given: Mapping[str, tuple[str, int]], block: str = "") -> None:
        """Arguments of a trainer by name, as text with a line: the columns that they give."""
        seen: set[str] = set()
        for argument in declared_arguments():
            scope, _, own = argument.name.rpartition(".")
            if own not in given or scope not in ("", block) or (scope and scope != block):
                continue
            text, line = given[own]
            other, _ = given.get(argument.when or "", (None, 0))
            if not argument.applies(other) or argument.column in seen or is_absent(text):
                continue
            value = argument.value({"true": "True", "false": "False"}.get(text.lower(), text))
            if value is not None:
                seen.add(argument.column)
                self.column(argument.column, str(value), line)
        for name, column in named("options").items():
            if name in given:
                self.column(column, *given[name])

    def every(self) -> Iterable[Statement]:
        """Every statement; the columns last."""
        yield from self.statements
        for column in self.columns.values():
            if len({one.value for one in column}) == 1:
                yield column[0]

    def doubtful(self) -> list[tuple[str, list[Statement]]]:
        """Columns with several values."""
        return [
            (name, given)
            for name, given in self.columns.items()
            if len({s.value for s in given}) > 1
        ]


LARGEST = 1 << 20
MOST_LEAVES = 20_000
MOST_NODES = 10 * MOST_LEAVES  # an alias is walked at each use
DEEPEST = 40
_COMPOSED = 5 * DEEPEST  # deeper documents are no configurations


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value of a document: its name from the root, its text, its line from 1."""

    name: str
    text: str
    line: int


def leaves(text: str, is_json: bool) -> list[Leaf] | None:
    """The leaves of a mapping; None for any other document, or one too large."""
    import yaml

    if len(text) > LARGEST:
        return None
    if is_json:
        try:
            if not isinstance(json.loads(text), dict):
                return None
        except (ValueError, RecursionError):
            return None
        text = text.replace("\t", " ")  # indentation, which YAML refuses; not in strings
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if _is_deep(text, loader):
            return None
        root = yaml.compose(text, loader)
        if not isinstance(root, yaml.MappingNode):
            return None
        found: list[Leaf] = []
        for seen, leaf in enumerate(_walk(root)):
            if seen > MOST_NODES or len(found) > MOST_LEAVES:
                return None
            if leaf:
                found.append(leaf)
        return found
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _is_deep(text: str, loader: Any) -> bool:
    """Whether composing it, which goes down in C as deep as the text, could end the process."""
    import yaml

    depth = 0
    for event in yaml.parse(text, loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _COMPOSED:
            return True
    return False


def _walk(root: object) -> Iterator[Leaf | None]:
    """Every leaf, and None for any other node, so that all are counted."""
    import yaml

    # Not by recursion: each leaf would be handed up through all the generators above it.
    open_nodes = [iter([("", root)])]
    while open_nodes:
        name, node = next(open_nodes[-1], ("", None))
        if node is None:
            open_nodes.pop()
        elif isinstance(node, yaml.ScalarNode):
            yield Leaf(name, node.value, node.start_mark.line + 1)
        else:
            yield None
            if len(open_nodes) <= DEEPEST:
                open_nodes.append(_children(name, node))


def _children(name: str, node: object) -> Iterator[tuple[str, object]]:
    """The nodes right below one, each with its name from the root."""
    import yaml

    prefix = f"{name}." if name else ""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield f"{prefix}{key.value}", value
    elif isinstance(node, yaml.SequenceNode):
        for place, value in enumerate(node.value):
            yield f"{name}.{place}", value
