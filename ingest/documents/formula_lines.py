"""A line outside tables that computes TFLOPs: what it takes for granted of the runs above it."""

from __future__ import annotations

import math
import re

from .fact import Fact

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
_SHORTEST = 128  # tokens of a sequence; smaller numbers count passes
# Two FLOPs times forward, backward and, where activations are recomputed, forward again.
_FACTORS = {6.0: "none", 8.0: "full"}


def one_liner(text: str, line: int) -> list[Fact]:
    """What a one-line TFLOPs formula states: parameters, batch, sequence length, recompute.

    Of a formula with its sequence length as a number the rest may be those of one row.
    """
    product = next((p for p in map(_factors, _PRODUCT.finditer(text)) if p), None)
    if not product:
        return []
    numbers, names = product
    lengths = [number for number in numbers if number >= _SHORTEST]
    recompute = _FACTORS.get(math.prod(number for number in numbers if number < _SHORTEST))
    if recompute is None or "gbs" not in names or len(lengths) + ("seq_len" in names) != 1:
        return []
    implied = Fact("recompute", recompute, text.strip(), line, "formula")
    if lengths:
        return [Fact("seq_len", f"{lengths[0]:.0f}", text.strip(), line, "formula"), implied]
    facts = {
        _VARIABLES[name.lower()]: Fact(
            _VARIABLES[name.lower()], value.replace("_", ""), text.strip(), line, "formula"
        )
        for name, value in _ASSIGNED.findall(text)
        if name.lower() in _VARIABLES
    }
    return [*facts.values(), implied]


def _factors(match: re.Match[str]) -> tuple[list[float], set[str]] | None:
    """The plain numbers of a product, and the meaning of its variables."""
    parts = [part.strip().lstrip("$") for part in match[0].split("*")]
    numbers = [float(part) for part in parts if re.fullmatch(r"\d{1,6}(?:\.0)?", part)]
    names = {_VARIABLES[part.lower()] for part in parts if part.lower() in _VARIABLES}
    return (numbers, names) if numbers and names else None
