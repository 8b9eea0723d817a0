"""Devices and their peaks, from hardware.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from .package_toml import declared
from .prefilter import HintedPattern


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

    def bound(self, dtype: str) -> float | None:
        """The most TFLOP/s in a number format, of fp32 also as TF32; None if not known."""
        known = [
            self.peak[name]
            for name in (dtype, "tf32" if dtype == "fp32" else "")
            if name in self.peak
        ]
        return max(known, default=None)


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


@lru_cache(maxsize=1024)
def one_spelling(text: str) -> str:
    """The name that all spellings of a device share, with the memory where its kind is sold with
    several: A100-80GB of `A100 80G` and `nvidia_a100-sxm4-80gb`. A text that says more than the
    device (`H100 at 500W`, `MI250X GCD`) stays as it is: it may be another machine.
    """
    device = device_of(text)
    found = (
        re.search(rf"(?<![A-Za-z0-9])(?:{'|'.join(device.names)})", text, re.I) if device else None
    )
    if device is None or found is None:
        return text
    rest = text[: found.start()] + " " + text[found.end() :]
    memory = _MEMORY.search(rest)
    rest = _MEMORY.sub(" ", rest, count=1)
    if _SAYS_MORE.search(_PLAIN.sub(" ", rest.replace("_", " "))):
        return text
    alone = sum(one.family == device.family for one in devices()) == 1
    name = device.family if alone else device.name
    form = "" if "PCIe" in name or not re.search("pcie", rest, re.I) else "-PCIe"
    usual = device.memory_gib or _file()["usual_memory_gib"].get(device.name)
    size = f"-{memory[1]}GB" if memory and float(memory[1]) != usual else ""
    return f"{name}{form}{size}"


# What a spelling of a device adds to its name: maker, board, form, kind of memory.
_PLAIN = re.compile(
    r"(?<![A-Za-z0-9])(?:NVIDIA|AMD|Intel|Google|Instinct|Tesla|GeForce|GPUs?|DGX|HGX|OAM|Cloud"
    r"|SXM\d?|PCIe|HBM3e?)(?![A-Za-z0-9])",
    re.I,
)
_MEMORY = re.compile(r"(?<![A-Za-z0-9])(\d{1,4})[ -]?(?:GiB|GB|G)(?![A-Za-z0-9])", re.I)
# `dual 4090`, `2x 3090`; the number alone may be any
_BARE = re.compile(r"(?<!\w)(?:dual|two|three|four|\d{1,2}\s?[x×])\s(?=[345]090s?(?!\w))", re.I)
_WATTS = re.compile(r"(?<![A-Za-z0-9.])(\d{2,4})[ -]?W(?:att)?s?(?![A-Za-z0-9])", re.I)
_SAYS_MORE = re.compile(r"[A-Za-z0-9]")


def memory_in(text: str) -> float | None:
    """GiB of a device as its name states with any unit (`A100 80G`); None for more than is sold."""
    found = _MEMORY.search(text)
    size = float(found[1]) if found else None
    return size if size and size <= (most_memory_gib(text) or 0.0) else None


def watts_in(text: str) -> float | None:
    """W that the name of a device states (`H100 at 500 W`): the limit that it is run with."""
    found = _WATTS.search(text)
    return float(found[1]) if found else None


def usual_memory_gib(text: str) -> float | None:
    """GiB of the device that a bare name means; None where it may mean several sizes."""
    device = device_of(text)
    if device is None:
        return None
    usual: float | None = _file()["usual_memory_gib"].get(device.name)
    return device.memory_gib or usual


def most_memory_gib(text: str) -> float | None:
    """GiB of the largest device of the name's family; None if unknown."""
    device = device_of(text)
    family = [one for one in devices() if device and one.family == device.family]
    sold = _file()["most_memory_gib"]
    sizes = [usual_memory_gib(one.name) or sold.get(one.name) or 0.0 for one in family]
    return max(sizes, default=0.0) or None


def peak_tflops(text: str, dtype: str) -> float | None:
    """Dense peak of one device in TFLOP/s; None if the device or its dtype is unknown."""
    device = device_of(text)
    return device.peak.get(dtype) if device else None


@cache
def highest_peak() -> float:
    """The highest dense peak of any known device, in TFLOP/s of any dtype."""
    return max(peak for device in devices() for peak in device.peak.values())


def with_series(text: str) -> str:
    """The text with the series of cards that it counts by their number alone: `dual 4090`."""
    return _BARE.sub(r"\g<0>RTX ", text)


@cache
def device_pattern() -> HintedPattern:
    """A pattern for devices in running text, with the memory size after them."""
    known = [name for device in devices() for name in device.names]
    names = "|".join([*known, *_file()["others"]["names"]])
    return HintedPattern(
        # `8xH100` is eight of them.
        rf"(?:(?<![A-Za-z0-9])|(?<=\d[xX]))(?:(?:DGX|HGX)[ -]?)?(?P<device>{names})(?:s\b)?"
        rf"(?:[ -]*(?P<form>SXM\d?|PCIe))?"
        rf"(?:[ -]*\(?(?P<memory>\d+)\s?(?:GiB|GB|G)\b\)?)?(?![A-Za-z0-9])",
        re.IGNORECASE,
    )


@cache
def _file() -> Mapping[str, Any]:
    return declared(__package__ or "bench.vocabulary", "hardware.toml")
