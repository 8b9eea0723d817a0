"""Energy of the processors by RAPL counters, if the machine has readable ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ZONES = Path("/sys/class/powercap")


@dataclass(slots=True)
class Meter:
    """Counters of all packages of a node in microjoules, with their last readings."""

    zones: tuple[Path, ...]
    before: dict[Path, int] = field(default_factory=dict)

    def take(self) -> float | None:
        """Joules since the last reading; None for the first one, or if unreadable."""
        now = {zone: count for zone in self.zones if (count := _count(zone / "energy_uj"))}
        before, self.before = self.before, now
        if not before or before.keys() != now.keys():
            return None
        return sum(_since(zone, before, now) for zone in now) / 1e6


def meter(zones: Path = ZONES) -> Meter:
    """The meter of this node, of packages only: zones within one are included in it."""
    packages = sorted(zones.glob("intel-rapl:*")) if zones.is_dir() else []
    return Meter(tuple(zone for zone in packages if _text(zone / "name").startswith("package")))


def _since(zone: Path, before: Mapping[Path, int], now: Mapping[Path, int]) -> int:
    taken = now[zone] - before[zone]
    return taken if taken >= 0 else taken + (_count(zone / "max_energy_range_uj") or 0)


def _count(file: Path) -> int | None:
    text = _text(file)
    return int(text) if text.isascii() and text.isdigit() else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError:  # readable only by root on most machines
        return ""
