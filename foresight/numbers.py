"""The numbers of the cost model with their sources, from terms.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ..schema.warehouse import Row
from ..vocabulary.hardware import device_of


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the model: its value in a unit, and where it is from."""

    value: float
    unit: str
    meaning: str
    basis: str  # definition, paper, vendor, measured, assumed
    source: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Prior:
    """A term as declared: the formula in words, and the prior of its parameter's logarithm."""

    title: str
    amount: str
    spread: float  # deviation of the logarithm
    usual: float = 1.0
    piped: bool = True  # waits in the pipeline's bubble with the rest of a micro-batch
    prior: str = ""  # why


@cache
def numbers() -> Mapping[str, Number]:
    """Every number, by name."""
    return {name: Number(**fields) for name, fields in _file()["number"].items()}


def number(name: str) -> float:
    """The value of a number."""
    return float(numbers()[name].value)


@cache
def priors(law: str) -> Mapping[str, Prior]:
    """The declared terms of a law (`pace`, `memory`) or its factors (`shape`), by name."""
    return {name: Prior(**fields) for name, fields in _file()[law].items()}


@cache
def _file() -> Mapping[str, Any]:  # what TOML holds
    text = (files(__package__) / "terms.toml").read_text("utf-8")
    found: Mapping[str, Any] = tomllib.loads(text)
    return found


@dataclass(frozen=True, slots=True)
class Links:
    """Bytes/s of a device that kernels and collectives reach of its memory and of the links of a
    node: the prior, not the fit. Unknown devices have those of an A100."""

    memory: float = number("memory_unknown")
    inside: float = number("links_unknown")

    @property
    def across(self) -> float:
        """Of the network, which no source states."""
        return self.inside * number("across")


def links_of(row: Row) -> Links:
    """The bandwidths of a run's device."""
    device = device_of(row["device"]) if row["device"] else None
    memory, inside = (device.memory_gb_s, device.link_gb_s) if device else (None, None)
    plain = Links()
    return Links(
        memory * 1e9 * number("memory_reached") if memory else plain.memory,
        inside * 1e9 * number("links_reached") if inside else plain.inside,
    )
