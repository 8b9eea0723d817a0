"""Settings written inside a cell: `2.2Hz, LD_PRELOAD=libtcmalloc.so, "retention_state=0"`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .cell_pieces import Piece

_ITEM = re.compile(r"[^,]+")
_PAIR = re.compile(r'^(["\']?)([A-Za-z_][\w.-]*)\s*=\s*+(.*?)\1$', re.S)
_CLOCK = re.compile(r"^(\d+(?:\.\d+)?)\s*([MG]?)Hz$", re.I)
_WITH = re.compile(r"^(?:\\w|w/|with)\s++(.+)$|^(?:\\wo|w\\o|w/o|without|no)\s++(?P<off>.+)$", re.I)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: `kind` is env, scheduler, clock, launcher or topology; value None: off."""

    name: str
    value: str | None
    kind: str


def settings_of(text: str) -> tuple[Setting, ...]:
    """The settings of a comma-separated list."""
    return tuple(_setting(item[0].strip()) for item in _ITEM.finditer(text) if item[0].strip())


def clock_ghz(text: str) -> str | None:
    """A clock rate in GHz; `2.2Hz` is 2.2 GHz, as no processor runs at two hertz."""
    match = _CLOCK.match(text.strip())
    if not match:
        return None
    value = float(match[1])
    return f"{value / 1000 if match[2].upper() == 'M' or value >= 100 else value:g}"


def env_kind(name: str) -> str:
    """env for names in the notation of environment variables, else scheduler."""
    return "env" if name.upper() == name else "scheduler"


def setting_pieces(text: str) -> list[Piece]:
    """The same list as typed pieces."""
    pieces: list[Piece] = []
    for part in re.split(r"((?<!\s)\s*,\s*|,\s*|[\"'])", text):
        pair = _PAIR.match(part)
        if pair and f"{pair[2]}={pair[3]}" == part:
            pieces.append(["set", pair[2], pair[3]])
        elif part:
            pieces.append(["gap" if re.fullmatch(r"\s*,\s*|[\"']", part) else "word", part])
    return pieces


def _setting(item: str) -> Setting:
    ghz = clock_ghz(item)
    if ghz:
        return Setting("clock_ghz", ghz, "clock")
    pair = _PAIR.match(item)
    if pair:
        name, value = pair[2], pair[3].strip()
        if name.replace("_", "-") in ("max-proc-per-node", "proc-per-node", "procs-per-node"):
            return Setting("procs_per_node", value, "topology")
        if name == "freq":
            plain = value if value.lower().endswith("hz") else f"{value}Hz"
            return Setting("clock_ghz", clock_ghz(plain) or value, "clock")
        return Setting(name, value, env_kind(name))
    stated = _WITH.match(item)
    if stated:
        return Setting(stated["off"] or stated[1], None if stated["off"] else "yes", "scheduler")
    return Setting(item.strip("\"'"), "yes", "launcher")
