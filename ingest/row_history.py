"""Rows of two revisions of a document, matched by what they say: first by their configuration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..schema.rows import content_id
from .stated_rows import StatedRow

_LEAST = 0.5  # of what two rows say, that rows which are one have in common
_MOST_PAIRS = 40_000  # compared by what they have in common
_GONE = 2_000  # rows of a document that are remembered after they went


@dataclass(frozen=True, slots=True)
class Held:
    """A row with the name that it keeps for life."""

    row_id: str
    row: StatedRow


@dataclass(frozen=True, slots=True)
class RowChange:
    """What became of a row: added, changed, removed, returned; `row` is what it says, or said."""

    kind: str
    row_id: str
    row: StatedRow


@dataclass(slots=True)
class DocumentRows:
    """The rows of a document as they are now, and those that went."""

    document_id: str
    live: list[Held] = field(default_factory=list)
    gone: dict[str, Held] = field(default_factory=dict)

    def move_to(self, rows: Sequence[StatedRow], number: int) -> list[RowChange]:
        """Take the rows of the next revision, the `number`-th commit; gives what changed."""
        partner = matched([held.row for held in self.live], rows)
        after: list[Held] = []
        changes: list[RowChange] = []
        for at, row in enumerate(rows):
            old = partner.get(at)
            if old is None:
                held, kind = self._named(row, number, at)
                changes.append(RowChange(kind, held.row_id, row))
            else:
                before = self.live[old]
                held = Held(before.row_id, row)
                if not before.row.says(row):
                    changes.append(RowChange("changed", held.row_id, row))
            after.append(held)
        kept = set(partner.values())
        for at, held in enumerate(self.live):
            if at not in kept:
                changes.append(RowChange("removed", held.row_id, held.row))
                self.gone[held.row_id] = held
        while len(self.gone) > _GONE:
            self.gone.pop(next(iter(self.gone)))
        self.live = after
        return changes

    def _named(self, row: StatedRow, number: int, at: int) -> tuple[Held, str]:
        """A row that is new, or the one of its configuration that went last."""
        for gone in reversed(self.gone.values()):
            if gone.row.settings == row.settings and gone.row.section == row.section:
                del self.gone[gone.row_id]
                return Held(gone.row_id, row), "returned"
        return Held(content_id(self.document_id, number, at), row), "added"


def matched(old: Sequence[StatedRow], new: Sequence[StatedRow]) -> dict[int, int]:
    """For each row of `new` that one of `old` became, by place, the place of that one.

    What is alike to the letter goes first, then what has one configuration, then what has the same
    results; last, within a table, what says mostly the same.
    """
    found = _unmoved(old, new)
    kept = set(found.values())
    left = {at: row for at, row in enumerate(old) if at not in kept}
    right = {at: row for at, row in enumerate(new) if at not in found}
    for key in _KEYS:
        if not (left and right):
            return found
        by_key: dict[object, list[int]] = defaultdict(list)
        for at, row in left.items():
            by_key[key(row)].append(at)
        for at, row in list(right.items()):
            if same := by_key.get(key(row)):
                found[at] = same.pop(0)
                del left[found[at]], right[at]
    tables = {(old[before].section, new[at].section) for at, before in found.items()}
    found |= dict(_nearest(left, right, tables))
    return found


def _unmoved(old: Sequence[StatedRow], new: Sequence[StatedRow]) -> dict[int, int]:
    """The rows at the beginning and at the end that are alike to the letter: mostly all but one."""
    least = min(len(old), len(new))
    first = next((n for n in range(least) if not _same(old[n], new[n])), least)
    last = next((n for n in range(least - first) if not _same(old[-1 - n], new[-1 - n])),
                least - first)  # fmt: skip
    ends = {len(new) - 1 - n: len(old) - 1 - n for n in range(last)}
    return {n: n for n in range(first)} | ends


def _same(one: StatedRow, other: StatedRow) -> bool:
    return one.section == other.section and one.says(other)


def _text(of: Mapping[str, str]) -> str:
    return repr(sorted(of.items()))


_KEYS: tuple[Callable[[StatedRow], object], ...] = (
    lambda row: (row.section, _text(row.settings), _text(row.printed)),
    lambda row: (_text(row.settings), _text(row.printed)),
    lambda row: (row.section, _text(row.settings)),
    lambda row: _text(row.settings),
    lambda row: (row.section, _text(row.printed)) if row.numbers else id(row),
    # A heading above was renamed or put in between, and with it what is stated around the table.
    lambda row: _text(row.printed) if len(row.numbers) > 1 else id(row),
)


def _nearest(
    left: Mapping[int, StatedRow], right: Mapping[int, StatedRow], same: Collection[tuple[str, str]]
) -> Iterator[tuple[int, int]]:
    """Pairs of one table that have most in common, the closest first.

    `same` are headings of before and after that other rows have shown to be of one table.
    """
    if len(left) * len(right) > _MOST_PAIRS:
        return
    pairs = sorted(
        (-_common(one, other), abs(before - at), before, at)
        for before, one in left.items()
        for at, other in right.items()
        if one.section == other.section or (one.section, other.section) in same
    )
    taken: set[int] = set()
    given: set[int] = set()
    for common, _, before, at in pairs:
        if -common >= _LEAST and before not in taken and at not in given:
            taken.add(before)
            given.add(at)
            yield at, before


def _common(one: StatedRow, other: StatedRow) -> float:
    """The share of what two rows say that both say."""
    first = {*one.settings.items(), *one.printed.items()}
    second = {*other.settings.items(), *other.printed.items()}
    names = {name for name, _ in first | second}
    return len(first & second) / len(names) if names else 0.0
