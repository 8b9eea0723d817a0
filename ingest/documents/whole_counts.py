"""Counts of devices in compound words: `8-NPU Benchmarks`, `Single-GPU`, `one 8xH100 node`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...vocabulary.hardware import device_pattern
from .fact import Fact

_UNIT = r"(?:GPU|NPU|TPU|HPU|XPU)"
_COMPOUND = re.compile(
    rf"(?<![\w.,/–-])(?:(?P<n>\d{{1,6}})-|(?:single|one)[ -]){_UNIT}s?(?![\w/])", re.I
)
# Of several set-ups none is that of every table below.
_SEVERAL = re.compile(
    rf"\b(?:vs|versus|per|from|to|than|up|equivalent)\b|multi-?(?:GPU|NPU|node)|(?<!\w){_UNIT}s?(?!\w)",
    re.I,
)
_ONE_NODE = re.compile(
    r"(?<![\w-])(?:one|single|1)\s(?P<n>\d{1,3})(?:\s?[x×*]\s?|-)(?:(?:NVIDIA|AMD|Intel)\s)?", re.I
)
_NODE = re.compile(rf"(?:{_UNIT}s?)?[ -]?(?:node|host|machine|server)\b", re.I)


def devices_of_heading(text: str, line: int) -> Iterator[Fact]:
    """The devices that a heading counts in a compound word, if it counts once."""
    found = list(_COMPOUND.finditer(text))
    if len(found) == 1 and not _SEVERAL.search(text[: found[0].start()] + text[found[0].end() :]):
        yield Fact("devices", found[0]["n"] or "1", text.strip(), line, "heading")


def devices_of_one_node(text: str, line: int) -> Iterator[Fact]:
    """One node and the devices in it: `on one 8xH100 node`."""
    for found in _ONE_NODE.finditer(text):
        device = device_pattern().match(text, found.end())
        end = device.end() if device else found.end()
        after = text[end:].lstrip()
        if _NODE.match(after):
            counts = {"nodes": "1", "devices": found["n"], "devices_per_node": found["n"]}
            for name, value in counts.items():
                yield Fact(name, value, text.strip(), line, "line")
