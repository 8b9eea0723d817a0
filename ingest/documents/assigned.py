"""Settings that a cell assigns, as programs name them: `per_device_bs=4, sharding="stage2"`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...vocabulary.headings import column_of

_ASSIGNED = re.compile(
    r"(?<![\w.-])(?:--)?(?P<key>[A-Za-z]{2,20}(?:_[A-Za-z]{1,20}){0,5})\s?=\s?[\"'“`]?"
    r"(?P<stage>stage[ _-]?)?(?P<value>\d{1,7})[\"'”`]?(?![\w.=%]|\s?[*×x/]\s?\d|\s?[kKMB]\b)"
)
# `d512 L8`, `L12 H768`, `12L 768h`, `24 layers, 1024 hidden`
_SHAPE = re.compile(
    r"(?<![\w.])(?:d(?P<hidden>\d{3,5})[ ,x×/_-]{1,3}L(?P<layers>\d{1,3})"
    r"|L(?P<layers_1>\d{1,3})[ ,x×/_-]{1,3}[dhDH](?P<hidden_1>\d{3,5})"
    r"|(?P<layers_2>\d{1,3})(?:L| ?layers?)[ ,x×/_-]{1,3}"
    r"(?P<hidden_2>\d{3,5})(?:[dhDH]|[ -]?(?:hidden|dim|wide)))"
    r"(?!\w)"
)
_ROLES = ("topology", "batch")
_MODEL = ("seq_len", "layers", "hidden", "heads")
_NOT_HERE = ("nodes", "ranks")  # of which a row has other notations
# Of no heading, or of several meanings as one.
_KEYS = {"accumulate": "grad_accum", "acc_steps": "grad_accum", "accum": "grad_accum"}
_SHARDED = frozenset({"sharding", "sharding_stage", "zero", "zero_stage", "stage"})
_STAGES = 3


def assigned_in(text: str) -> Iterator[tuple[str, int]]:
    """Field and number of each assignment by a name of several words, or one of few others."""
    for match in _ASSIGNED.finditer(text):
        key, value = match["key"].casefold(), int(match["value"])
        if match["stage"] or key in _SHARDED:
            if key in _SHARDED and value <= _STAGES and (match["stage"] or key != "sharding"):
                yield "zero_stage", value
        elif name := _KEYS.get(key) or (_field_of(key) if "_" in key else None):
            yield name, value


def shape_in(text: str) -> Iterator[tuple[str, int]]:
    """Layers and hidden size, where a text gives both as one shape."""
    for match in _SHAPE.finditer(text):
        for name, digits in match.groupdict().items():
            if digits:
                yield name.split("_")[0], int(digits)


def _field_of(key: str) -> str | None:
    column = column_of(key)
    if column is not None and column.name == "device_batch":
        return "mbs"
    if column is None or column.type != "count" or column.name in _NOT_HERE:
        return None
    return column.name if column.role in _ROLES or column.name in _MODEL else None
