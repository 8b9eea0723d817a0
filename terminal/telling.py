"""`--set device=A64FX,nodes=64`: what sources do not state, told on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..schema.errors import BenchError

Told = Mapping[str, str | None]  # as `schema.telling`, which takes longer to import
_NEXT = re.compile(r",(?=\s*[A-Za-z_][\w.-]*\s*=)")  # `gbs=1,024,tp=4` are two


@dataclass
class Asked:
    """What the command line of this program tells: set by its option, taken once."""

    told: dict[str, str | None] = field(default_factory=dict)

    def take(self) -> Told:
        """What was told; later calls give nothing."""
        told, self.told = self.told, {}
        return told


asked = Asked()


def parse(texts: Sequence[str]) -> dict[str, str | None]:
    """Columns and values of `--set`, which may be given several times; no value takes one back.

    Raises BenchError for what is no column or does not fit it.
    """
    from ..schema.tellable import parse_told, unknown_field
    from ..schema.tellable import tellable as known

    found: dict[str, str | None] = {}
    for part in (part for text in texts for part in _NEXT.split(text)):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals:
            raise BenchError(f"--set {part!r} tells nothing", hint="--set device=A64FX,nodes=64")
        if name not in known():
            raise unknown_field(name, "--set")
        made = parse_told(name, value, "--set") if value else None
        if found.setdefault(name, made) != made:
            raise BenchError(f"--set tells {name} twice: {found[name]} and {made}",
                             hint="tell different sources in calls of their own")  # fmt: skip
    return found


def without_paths(told: Told) -> BenchError:
    """The error for a reading command that is told something of no source."""
    text = ",".join(f"{name}={value or ''}" for name, value in told.items())
    return BenchError(
        "--set goes with the paths that it is about",
        why="what is told of sources of the warehouse is stored with them",
        hint=f"bench ingest PATH --set {text}",
    )
