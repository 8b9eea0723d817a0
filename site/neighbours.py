"""Runs beside a run: those of its configuration, and those that differ in one setting alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

from ..decide.rows import Row, configuration
from ..vocabulary.fields import fields
from ..vocabulary.format import times
from .load import NOT_STATED, Content, model_of

MOST = 24


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another run, how it differs, and how fast it is against this one."""

    what: str
    change: str
    place: str
    href: str
    speed: str


def neighbours(content: Content) -> dict[str, list[Neighbour]]:
    """The neighbours of each run that has a page, by run."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in content.rows:
        # Of models that nobody states, runs are no neighbours.
        if (
            row["run"] in content.with_pages
            and row["kind"] == "measured"
            and model_of(row) != NOT_STATED
        ):
            groups[model_of(row)].append(row)
    found: dict[str, list[Neighbour]] = {}
    for rows in groups.values():
        found |= _of_model(content, rows)
    return found


def _of_model(content: Content, rows: Sequence[Row]) -> dict[str, list[Neighbour]]:
    settings = [
        {name: str(value) for name, value in configuration(row).items() if value is not None}
        for row in rows
    ]
    # A sum of hashes without that of one setting finds runs that differ in it alone.
    hashes = [{name: _hash(f"{name}\0{value}") for name, value in one.items()} for one in settings]
    sums = [sum(one.values()) for one in hashes]
    names = sorted({name for one in settings for name in one})
    alike: dict[tuple[str, int], list[int]] = defaultdict(list)
    for at, total in enumerate(sums):
        alike["", total].append(at)
        for name in names:
            alike[name, total - hashes[at].get(name, 0)].append(at)
    found: dict[str, list[Neighbour]] = {}
    for at, row in enumerate(rows):
        near: list[Neighbour] = []
        for name in ("", *names):
            for other in alike[name, sums[at] - hashes[at].get(name, 0)]:
                same = sums[other] == sums[at]
                if other != at and len(near) < MOST and same == (not name):
                    near.append(
                        _neighbour(content, row, rows[other], name, settings[at], settings[other])
                    )
        if near:
            found[row["run"]] = near
    return found


@cache
def _hash(text: str) -> int:
    return int.from_bytes(
        blake2b(text.encode("utf-8", "backslashreplace"), digest_size=12).digest()
    )


def _neighbour(
    content: Content, row: Row, other: Row, name: str, mine: dict[str, str], theirs: dict[str, str]
) -> Neighbour:
    line = content.text.line
    field = fields().get(name)
    what = (field.title if field else None) or name.removeprefix("env ").removeprefix("column ")
    change = (
        f"{mine.get(name, 'not stated')} → {theirs.get(name, 'not stated')}"
        if name
        else "the same configuration"
    )
    same = (
        row["pace"]
        and other["pace"]
        and row["measure"] == other["measure"]
        and not other["left_out"]
    )
    speed = times(row["pace"] / other["pace"]) if same else ""
    return Neighbour(
        line(what, 60), line(change, 120), content.place(other), content.href(other["run"]), speed
    )
