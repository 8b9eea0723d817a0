"""Neighbours of a run: runs of the same configuration, or with one setting changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import islice

from ..decide.rows import configuration
from ..schema.warehouse import Row
from ..vocabulary.fields import fields
from ..vocabulary.format import times
from .facts import title_of
from .load import NOT_STATED, Content, model_of

MOST = 24


@dataclass(frozen=True, slots=True)
class NearbyRun:
    """Another run, and the setting in which it differs; '' for the same configuration."""

    row: Row
    setting: str
    mine: str | None = None
    theirs: str | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The text of a neighbour: the changed setting with its values, and the relative speed."""

    what: str
    change: str
    place: str
    href: str
    speed: str


def neighbours(content: Content) -> dict[str, list[NearbyRun]]:
    """The neighbours of each run with a page, by run."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in content.rows:
        # Runs without a stated model have no neighbours.
        if (
            row["run"] in content.with_pages
            and row["kind"] == "measured"
            and model_of(row) != NOT_STATED
        ):
            groups[model_of(row)].append(row)
    found: dict[str, list[NearbyRun]] = {}
    for rows in groups.values():
        found |= _of_model(rows)
    return found


@dataclass(frozen=True, slots=True)
class _Group:
    """The runs of a model, indexed by their settings without one."""

    rows: Sequence[Row]
    settings: Sequence[dict[str, str]]
    hashes: Sequence[dict[str, int]]
    sums: Sequence[int]
    names: Sequence[str]
    alike: dict[tuple[str, int], list[int]]

    def near(self, at: int) -> Iterator[NearbyRun]:
        """The neighbours of a run, those of the same configuration first."""
        for name in ("", *self.names):
            for other in self.alike[name, self.sums[at] - self.hashes[at].get(name, 0)]:
                if other != at and (self.sums[other] == self.sums[at]) == (not name):
                    mine, theirs = self.settings[at].get(name), self.settings[other].get(name)
                    yield NearbyRun(self.rows[other], name, mine, theirs)


def _of_model(rows: Sequence[Row]) -> dict[str, list[NearbyRun]]:
    settings = [
        {name: str(value) for name, value in configuration(row).items() if value is not None}
        for row in rows
    ]
    # The sum of hashes minus that of one setting is the key of runs that differ only in it.
    hashes = [
        {name: _hash(f"{name}\0{value}") for name, value in setting.items()} for setting in settings
    ]
    sums = [sum(one.values()) for one in hashes]
    names = sorted({name for setting in settings for name in setting})
    alike: dict[tuple[str, int], list[int]] = defaultdict(list)
    for at, total in enumerate(sums):
        alike["", total].append(at)
        for name in names:
            alike[name, total - hashes[at].get(name, 0)].append(at)
    group = _Group(rows, settings, hashes, sums, names, alike)
    found = {row["run"]: list(islice(group.near(at), MOST)) for at, row in enumerate(rows)}
    return {run: near for run, near in found.items() if near}


@cache
def _hash(text: str) -> int:
    return int.from_bytes(
        blake2b(text.encode("utf-8", "backslashreplace"), digest_size=12).digest()
    )


def neighbour(content: Content, row: Row, near: NearbyRun) -> Neighbour:
    """The text about a neighbour on the page of a run."""
    line, other, name = content.text.line, near.row, near.setting
    plain = name.removeprefix("env ").removeprefix("column ")
    what = title_of(name) if name in fields() else plain
    change = (
        f"{near.mine or 'not stated'} → {near.theirs or 'not stated'}"
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
