"""Devices and their peaks, from hardware.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Device:
    """A device; `peak` has dense TFLOP/s by dtype."""

    name: str
    family: str
    names: tuple[str, ...]
    peak: Mapping[str, float]
    source: str
    memory_gib: float | None = None
    power_w: float | None = None  # rated, of one device
    power_source: str = ""
    memory_gb_s: float | None = None  # of its memory, 1e9 bytes/s
    link_gb_s: float | None = None  # of its links to the others of a node, both directions


_NAME = 200  # characters


@cache
def devices() -> tuple[Device, ...]:
    """Every known device, in the order of matching."""
    return tuple(
        Device(
            e["name"],
            e["family"],
            tuple(e["names"]),
            e["peak"],
            e["source"],
            e.get("memory_gib"),
            e.get("power_w"),
            e.get("power_source", ""),
            e.get("memory_gb_s"),
            e.get("link_gb_s"),
        )
        for e in _file()["device"]
    )


def device_of(text: str) -> Device | None:
    """The device named by a text; None if it is unknown."""
    # A sweep names few devices in many rows. Long texts are no names, and would fill the cache.
    return _known(text) if len(text) <= _NAME else _searched(text)


def _searched(text: str) -> Device | None:
    for device in devices():
        if any(re.search(rf"(?<![A-Za-z0-9]){name}", text, re.IGNORECASE) for name in device.names):
            return device
    return None


_known = lru_cache(maxsize=1024)(_searched)


def peak_tflops(text: str, dtype: str) -> float | None:
    """Dense peak of one device in TFLOP/s; None if the device or its dtype is unknown."""
    device = device_of(text)
    return device.peak.get(dtype) if device else None


@cache
def highest_peak() -> float:
    """The highest dense peak of any known device, in TFLOP/s of any dtype."""
    return max(peak for device in devices() for peak in device.peak.values())


@cache
def device_pattern() -> re.Pattern[str]:
    """A pattern for devices in running text, with the memory size after them."""
    known = [name for device in devices() for name in device.names]
    names = "|".join([*known, *_file()["others"]["names"]])
    return re.compile(
        # `8xH100` is eight of them.
        rf"(?:(?<![A-Za-z0-9])|(?<=\d[xX]))(?:(?:DGX|HGX)[ -]?)?(?P<device>{names})(?:s\b)?"
        rf"(?:[ -]*(?P<form>SXM\d?|PCIe))?"
        rf"(?:[ -]*\(?(?P<memory>\d+)\s?(?:GiB|GB|G)\b\)?)?(?![A-Za-z0-9])",
        re.IGNORECASE,
    )


@cache
def _file() -> dict[str, Any]:
    text = (files(__package__ or "bench.vocabulary") / "hardware.toml").read_text("utf-8")
    return tomllib.loads(text)
