"""YAML and JSON as leaves: dotted name, text, line. No objects are constructed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
