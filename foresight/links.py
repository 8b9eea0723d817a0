"""The bandwidths of a device that kernels and collectives reach."""

from __future__ import annotations

from dataclasses import dataclass

from ..schema.warehouse import Row
from ..vocabulary.hardware import device_of
from .numbers import number


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
