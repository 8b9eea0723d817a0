"""Host lists of schedulers and launchers, expanded to single names."""

from __future__ import annotations

import re

MOST = 4096  # hosts of one range
_LISTED = re.compile(r"(?P<stem>[\w.-]*)\[(?P<numbers>[\d,-]+)\](?P<end>[\w.-]*)")
_KEY = re.compile(r"'([\w.-]{1,80})': *\[")  # DeepSpeed: 'n1': [0, 1], 'n2': [0, 1]
_SLOTS = re.compile(r":\d{1,6}$|\*\d{1,6}$")  # mpirun and LSF: n1:8, n1*8


def names(text: str) -> list[str]:
    """The names in a list of hosts; Slurm's n[07-08,11] expanded to its nodes, up to a limit.

    Names keep their suffix, such as a port.
    """
    parts: list[str] = []
    for part in re.split(r",(?![^\[]*\])|\s+", text):
        match = _LISTED.fullmatch(part)
        parts += _expanded(**match.groupdict()) if match else [part]
    return [part for part in parts if part]


def hosts(text: str) -> tuple[str, ...]:
    """The hosts of a job, each once, in order of name, for any syntax of the list."""
    found = _KEY.findall(text) or [_SLOTS.sub("", name) for name in names(text)]
    return tuple(sorted(set(found)))


def _expanded(stem: str, numbers: str, end: str) -> list[str]:
    found: list[str] = []
    for piece in numbers.split(","):
        first, _, last = piece.partition("-")
        last = last or first
        if not (first.isdecimal() and last.isdecimal()) or int(last) - int(first) > MOST:
            return [f"{stem}[{numbers}]{end}"]
        width = len(first)
        found += [f"{stem}{n:0{width}d}{end}" for n in range(int(first), int(last) + 1)]
    return found
