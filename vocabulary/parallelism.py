"""Sizes and batches in text: `FSDP 4, CP 2`, `tp=1, zero1=8`, `z1_gas1_tmbspg14`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from .headings import column_of
from .sizes import binary_length

# `3D`, `v5p-128` and `1.3B` have adjacent letters or digits.
_SIZE = re.compile(
    r"(?<![A-Za-z0-9.])([A-Za-z]{1,8})( ?[=:] ?|[ _-])?(\d{1,7})"
    r"(?![A-Za-z0-9%]| ?[kK]\b| ?[x×*] ?\d|\.(?!toml|ya?ml|json|sh|py))"
)
_COUNTED = re.compile(
    r"(?<![\w.])(\d{1,6})(?:\s*x?\s*|-)((?:GPU|NPU|TPU|HPU|node|chip|device|card)s?)(?!\w|\s*(?:per|/))",
    re.I,
)
# `2 Nodes (4 GPUs/node)`
_OF_NODE = re.compile(
    r"(?<![\w.])(\d{1,3})(?:\s*x?\s*|-)(?:GPU|NPU|TPU|HPU|chip|device|card)s?\s?(?:/|per)\s?node(?!\w)",
    re.I,
)
_SHORT = {"z": "zero_stage"}  # in DeepSpeed's autotuner output
# `tp2sd4_stage2`, PaddleNLP's names of strategies
# `TP8PP4DP1`, `tp8xpp4`
_GLUED = re.compile(
    r"(?<![\w.-])(?:[a-z]{1,8}\d{1,4}_?){2,8}(?![\w-])|(?<![\w.-])(?:[A-Z]{2,4}\d{1,4}_?){2,8}(?![\w-])"
    r"|(?<![\w.-])[A-Za-z]{2,4}\d{1,4}(?:[x×*·/-][A-Za-z]{2,4}\d{1,4}){1,7}(?![\w-])"
)
_PART = re.compile(r"([A-Za-wyz]{1,8})(\d{1,4})")
_IN_GLUED = {"sd": "dp_shard", "stage": "zero_stage"}
# `cp8-ebs4-s8192`, `mbs2_tp4_s8192`: in a name with two codes that are known by themselves
_CODES = re.compile(
    r"(?<![^\s,;|(])[A-Za-z]{1,8}\d{1,7}(?:[-_.][A-Za-z]{1,12}\d{0,7}){1,12}(?![^\s,;|)])"
)
_CODE = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{1,8})(\d{1,7})(?![A-Za-z0-9.])")
_IN_CODES = {"s": "seq_len", "seq": "seq_len", "sl": "seq_len", "gb": "gbs", "mb": "mbs"}
_LEAST_LENGTH = 128  # of a sequence
_KNOWN_CODES = 2
# `64K, ring attention`, `128k ctx`: among other words of a cell a binary multiple is a length.
_LENGTH = re.compile(
    r"(?:^|[;|]|,)\s*(\d{1,4})[kK](?:\s*,(?=\s*[^\W\d])|\s+(?:ctx|context|seq\w*)\b)"
)
# `HSDP 2×8`: replicas, and shards of each
_HYBRID = re.compile(r"(?<![A-Za-z])HSDP[ =:]{0,2}(\d{1,4})\s?[x×*]\s?(\d{1,4})(?!\w)", re.I)
# FSDP's names of ZeRO stages; a hybrid shards within nodes alone, which is no stage.
_SHARDED = (
    (re.compile(r"(?<![A-Za-z_])(?<!hybrid[ _-])FULL[_ ]SHARD(?![A-Za-z_])", re.I), 3),
    (re.compile(r"(?<![A-Za-z])(?<!hybrid[ _-])SHARD[_ ]GRAD[_ ]OP(?![A-Za-z_])", re.I), 2),
)
_STAGE = re.compile(r"(?<![A-Za-z])ZeRO[ _-]{0,3}stage[ =:_-]{0,3}([0-3])(?![\w.])", re.I)
# A batch next to a number: it may be of a step or a micro-batch.
_OPEN = frozenset({"batch", "bs", "bsz"})
_OPEN_BATCH = re.compile(
    r"(?<![\w-])(?<!micro )(?<!local )(?:bsz?|batch(?:[ _-]size)?)(?: ?[=:] ?| )?"
    r"(\d{1,6})(?![A-Za-z0-9%.]| ?[kK]\b)",
    re.I,
)
_VERSIONED = frozenset({"FSDP1", "FSDP2"})
_BATCH = re.compile(
    r"(?<![\w-])((?:micro|global)[ _-]?batch(?:[ _-]size)?)(?: ?[=:] ?| )"
    r"(\d{1,7})(?![A-Za-z0-9.%])",
    re.I,
)
_ROLES = ("topology", "batch")
_NOT_HERE = ("devices", "nodes", "ranks")  # `8 GPUs 2` is not a notation for them
_STAGES = 3


@lru_cache(1 << 12)
def sizes_in(text: str) -> dict[str, int]:
    """The fields of topology and batch that a text states, each once."""
    found: dict[str, set[int]] = {}
    for name, value in _sizes_in(text):
        found.setdefault(name, set()).add(value)
    return {name: values.pop() for name, values in found.items() if len(values) == 1}


def open_batch_in(text: str) -> int | None:
    """The batch that a text states once without saying of what: 16 of `bs=16, 8N`."""
    found = set(_OPEN_BATCH.findall(text))
    return int(found.pop()) if len(found) == 1 else None


def glued_in(text: str) -> Iterator[tuple[str, tuple[int, int], str]]:
    """Field, place and value of each part of what is written as one word: `tp8-pp2-dp4`."""
    for glued in _GLUED.finditer(text):
        parts = [(_glued_field(match[1]), match[2]) for match in _PART.finditer(glued[0])]
        if all(name for name, _ in parts) and len({name for name, _ in parts}) == len(parts):
            yield from ((name, glued.span(), digits) for name, digits in parts if name)


def _glued_field(word: str) -> str | None:
    return _IN_GLUED.get(word) or _field_of(word.lower())


def _sizes_in(text: str) -> Iterator[tuple[str, int]]:
    found = [
        (_SHORT.get(one[1]) or _field_of(one[1]), one[3])
        for one in _sized(text)
        if one[1].lower() not in _OPEN
    ]
    for glued in _GLUED.findall(text):
        parts = [(_glued_field(word), digits) for word, digits in _PART.findall(glued)]
        found += parts if all(name for name, _ in parts) else []
    found += _coded(text)
    for name, digits in found:
        value = int(digits)
        if (
            name
            and (value or name == "zero_stage")
            and not (name == "zero_stage" and value > _STAGES)
            and not (name == "seq_len" and value < _LEAST_LENGTH)
        ):
            yield name, value
    for hybrid in _HYBRID.finditer(text):
        yield "dp_replicate", int(hybrid[1])
        yield "dp_shard", int(hybrid[2])
    for pattern, stage in _SHARDED:
        if pattern.search(text):
            yield "zero_stage", stage
    for stated in _STAGE.findall(text):
        yield "zero_stage", int(stated)
    for match in _LENGTH.finditer(text):
        if length := binary_length(int(match[1])):
            yield "seq_len", length


def _coded(text: str) -> Iterator[tuple[str, str]]:
    """The settings with names of one or two letters in names with two known codes."""
    for word in _CODES.findall(text):
        parts = [(name.lower(), digits) for name, digits in _CODE.findall(word)]
        known = [part for part in parts if _field_of(part[0])]
        coded = [
            (field, digits)
            for name, digits in parts
            if (name, digits) not in known and (field := _IN_CODES.get(name))
            and not (field == "seq_len" and int(digits) < _LEAST_LENGTH)
        ]  # fmt: skip
        if len(known) + len(coded) >= _KNOWN_CODES:
            yield from coded


def settings_in(text: str) -> Iterator[tuple[str, str, str]]:
    """Each setting within a heading: its text, the heading of its column and its value.

    `DP=1`, `TP 4` and `8 GPUs`; counts of devices or nodes have the number first.
    """
    for counted in _COUNTED.finditer(text):
        yield counted[0], f"{counted[2].removesuffix('s')}s", counted[1]
    for each in _OF_NODE.finditer(text):
        yield each[0], "GPUs/node", each[1]
    for batch in _BATCH.finditer(text):
        yield batch[0], batch[1], batch[2]
    for match in _sized(text):
        # Only an isolated setting is one of the run: `(BS 8)`, `BS=8`, not `tokens/s/GPU bs 8`.
        around = text[: match.start()][-1:] + text[match.end() :][:1]
        apart = around == "()" or "=" in match[0] or ":" in match[0]
        if (apart or match[1].lower() not in _OPEN) and _field_of(match[1]):
            yield match[0], match[1], match[3]


def _sized(text: str) -> list[re.Match[str]]:
    """The words with a number; one alone with a hyphen may be the name of a variant: `DP-1`."""
    found = [one for one in _SIZE.finditer(text) if one[0].upper() not in _VERSIONED]
    known = [one for one in found if _field_of(one[1])]
    if len(known) > 1:
        return found
    return [one for one in found if one not in known or one[2] != "-" or _is_stage(one[1])]


def _is_stage(word: str) -> bool:
    return _field_of(word) == "zero_stage"


@lru_cache(1 << 10)
def _field_of(word: str) -> str | None:
    column = column_of(word)
    if column is None or column.type != "count" or column.name in _NOT_HERE:
        return None
    return column.name if column.role in _ROLES or column.name == "seq_len" else None
