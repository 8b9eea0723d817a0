"""A line outside tables that states a configuration, the TFLOPs formula, or names the machine."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..vocabulary.sizes import find_size
from .context import Fact, devices_named, machine_facts, setting_field, typed_facts

# `TP=8`, `TP: 8` and `TP 8`: a value is one word, or prose with a colon would be a setting.
_KEY_VALUE = re.compile(
    r"^(?:--)?(?P<key>[A-Za-z_][A-Za-z_ .-]*?)\s*(?:=|:|\s)\s*(?P<value>[^\s=]+)$"
)
_ARGUMENT = re.compile(r"^--(?P<key>[a-z][a-z-]*)(?:\s+|=)(?P<value>\S+)$")
# Parts of a line that state a number without a name in front.
_COUNT_OF = re.compile(r"^(?:(?P<nodes>\d+)\s+nodes?|(?P<dp>\d+)\s+replicas?)$", re.I)
_STEPS = re.compile(
    r"^(?P<number>\d[\d,]{0,15}(?:\.\d{1,9})?)\s*(?P<scale>[kKmM])?\s*(?:steps|iterations|iters)$",
    re.I,
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_LAUNCH = re.compile(r"^\s*(?:\$\s*)?(?:salloc|sbatch|srun|#SBATCH)\b")
# Bounded everywhere: a formula is looked for in every line, and lines may be hostile.
_ASSIGNED = re.compile(
    r"(?<![\w.])\$?([A-Za-z_]\w{0,30})\s{0,3}=\s{0,3}(\d[\d._]{0,15})(?![\w.*/(])"
)
# Four factors at least: FLOPs a token, parameters, batch and sequence length.
_PRODUCT = re.compile(r"\$?[\w.]{1,30}(?:\s{0,3}\*\s{0,3}\$?[\w.]{1,30}){3,12}")
# Variables of the formulas that people paste, mostly from scripts of Megatron-DeepSpeed.
_VARIABLES = {
    "ms": "params_b", "model_size": "params_b", "params_b": "params_b", "size_b": "params_b",
    "gbs": "gbs", "bs": "gbs", "global_batch_size": "gbs", "batch_size": "gbs",
    "seqlen": "seq_len", "seq": "seq_len", "seq_len": "seq_len", "seq_length": "seq_len",
    "sequence_length": "seq_len",
}  # fmt: skip
# Two FLOPs times forward, backward and, where activations are recomputed, forward again.
_FACTORS = {6.0: "none", 8.0: "full"}


@dataclass(frozen=True, slots=True)
class LineFacts:
    """What a line states: a whole configuration, else a formula, else devices in passing."""

    configuration: list[Fact]
    formula: list[Fact]
    section: list[Fact]  # what holds from here on in its section
    mentions: list[Fact]  # what may hold for the whole document, if no other line contradicts it


def line_facts(text: str, line: int) -> LineFacts:
    """The facts of a line outside tables.

    A device in passing holds for a section only where the line speaks of nodes or starts a job:
    prose names devices for many other reasons.
    """
    facts = configuration(text, line)
    if facts:
        return LineFacts(facts, [], facts, facts)
    formula, machine = one_liner(text, line), machine_facts(text, line, "line")
    of_nodes = is_launch(text) or "node" in text.lower()
    section = formula or (machine if of_nodes else [])
    return LineFacts([], formula, section, [*machine, *devices_named(text, line)])


def configuration(text: str, line: int) -> list[Fact]:
    """Facts of a line that consists of nothing but settings (`20B model: TP=8, PP=1, GBS=2048`)."""
    body = _BULLET.sub("", text)
    body = re.sub(r"\s+#.*$|[`*]", "", body).strip().rstrip(":,\\").strip()
    body = re.sub(r"\s+", " ", body)  # runs of blanks make patterns slow
    if len(body) > 400:
        return []
    facts: list[Fact] = []
    size: str | None = None
    for token in _tokens(body):
        label = _lone_size(token)
        found = [] if label else _token_facts(token, text, line)
        if label:
            size = label
            facts.append(Fact("size", label, text.strip(), line, "line"))
        elif found is None:
            return []
        else:
            facts += found
    if not any(fact.field != "size" for fact in facts):
        return []
    named = find_size(size) if size else None
    only = named[1] if named else None
    return [replace(fact, only_size=only) if fact.field != "size" else fact for fact in facts]


def reaches_back(text: str) -> bool:
    """Whether a configuration line says that it also holds for the tables above."""
    return bool(
        re.search(r"\(\s*(?:for\s+)?(?:the\s+)?above(?:,?\s*too)?\s*\)|\babove,? too\b", text, re.I)
    )


def is_launch(text: str) -> bool:
    """Whether a line is an allocation command."""
    return bool(_LAUNCH.match(text))


def one_liner(text: str, line: int) -> list[Fact]:
    """What a one-line TFLOPs formula states: parameters, batch, sequence length, recompute."""
    product = next((p for p in map(_factors, _PRODUCT.finditer(text)) if p), None)
    if not product:
        return []
    numbers, names = product
    recompute = _FACTORS.get(math.prod(numbers))
    if recompute is None or not {"gbs", "seq_len"} <= names:
        return []
    facts = {
        _VARIABLES[name.lower()]: Fact(
            _VARIABLES[name.lower()], value.replace("_", ""), text.strip(), line, "formula"
        )
        for name, value in _ASSIGNED.findall(text)
        if name.lower() in _VARIABLES
    }
    return [*facts.values(), Fact("recompute", recompute, text.strip(), line, "formula")]


def _factors(found: re.Match[str]) -> tuple[list[float], set[str]] | None:
    """The plain numbers of a product, and what its variables stand for."""
    parts = [part.strip().lstrip("$") for part in found[0].split("*")]
    numbers = [float(part) for part in parts if re.fullmatch(r"\d{1,4}(?:\.0)?", part)]
    names = {_VARIABLES[part.lower()] for part in parts if part.lower() in _VARIABLES}
    return (numbers, names) if numbers and names else None


def _lone_size(token: str) -> str | None:
    found = find_size(token)
    if not found or "=" in token:
        return None
    words = token.replace(found[0], " ").split()
    return (
        found[0] if len(words) <= 3 and not any(re.search(r"\d", word) for word in words) else None
    )


def _tokens(body: str) -> Iterable[str]:
    opened = re.match(r"^(?P<head>[^=(]*?)(?::\s|\s*\()(?P<rest>.*)$", body)
    parts = re.split(r"[,;|]|\s/\s", body)
    if opened and find_size(opened["head"]):
        parts = [opened["head"], *re.split(r"[,;|]|\s/\s", opened["rest"].rstrip(")"))]
    cleaned = (
        re.sub(r"\((?:for\s+)?(?:the\s+)?above(?:,?\s*too)?\s*\)", "", part, flags=re.I).strip()
        for part in parts
    )
    return [re.sub(r"^all\s+", "", part, flags=re.I) for part in cleaned if part]


def _token_facts(token: str, text: str, line: int) -> list[Fact] | None:
    """Facts of one part of a configuration line; None when the part is something else."""
    count, steps = _COUNT_OF.match(token), _STEPS.match(token)
    if count:
        field = "nodes" if count["nodes"] else "dp"
        return [Fact(field, count[field], text.strip(), line, "line")]
    if steps:
        scale = {"k": 1e3, "m": 1e6}.get((steps["scale"] or "").lower(), 1)
        number = float(steps["number"].replace(",", "")) * scale
        return [Fact("steps", str(round(number)), text.strip(), line, "line")]
    pair = _ARGUMENT.match(token) or _KEY_VALUE.match(token)
    if not pair:
        return None
    stated = setting_field(pair["key"])
    return typed_facts(stated, pair["value"], text, line) if stated else None
