"""Rows of two revisions of a document, matched by their content: first by their configuration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...schema.rows import content_id
from .stated_rows import StatedRow

_LEAST = 0.5  # the least share of cells that versions of one row have in common
_MOST_PAIRS = 40_000  # compared cell by cell
_GONE = 2_000  # removed rows of a document that may return


@dataclass(frozen=True, slots=True)
class TrackedRow:
    """A row with its id, which is the same in all revisions."""

    row_id: str
    row: StatedRow


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of a row: added, changed, removed, returned; `row`: its newest content."""

    kind: str
    row_id: str
    row: StatedRow


@dataclass(slots=True)
class DocumentRows:
    """The current rows of a document, and the removed ones."""

    document_id: str
    live: list[TrackedRow] = field(default_factory=list)
    gone: dict[str, TrackedRow] = field(default_factory=dict)

    def move_to(self, rows: Sequence[StatedRow], number: int) -> list[RowChange]:
        """Takes the rows of the next revision, the `number`-th commit; returns the changes."""
        partner = matched([tracked.row for tracked in self.live], rows)
        after: list[TrackedRow] = []
        changes: list[RowChange] = []
        for at, row in enumerate(rows):
            old = partner.get(at)
            if old is None:
                tracked, kind = self._tracked(row, number, at)
                changes.append(RowChange(kind, tracked.row_id, row))
            else:
                before = self.live[old]
                tracked = TrackedRow(before.row_id, row)
                if not before.row.has_content_of(row):
                    changes.append(RowChange("changed", tracked.row_id, row))
            after.append(tracked)
        kept = set(partner.values())
        for at, tracked in enumerate(self.live):
            if at not in kept:
                changes.append(RowChange("removed", tracked.row_id, tracked.row))
                self.gone[tracked.row_id] = tracked
        while len(self.gone) > _GONE:
            self.gone.pop(next(iter(self.gone)))
        self.live = after
        return changes

    def _tracked(self, row: StatedRow, number: int, at: int) -> tuple[TrackedRow, str]:
        """A new row, or the last removed one of its configuration."""
        for gone in reversed(self.gone.values()):
            if gone.row.settings == row.settings and gone.row.section == row.section:
                del self.gone[gone.row_id]
                return TrackedRow(gone.row_id, row), "returned"
        return TrackedRow(content_id(self.document_id, number, at), row), "added"


def matched(old: Sequence[StatedRow], new: Sequence[StatedRow]) -> dict[int, int]:
    """The place of the earlier version in `old`, for each row of `new` that has one, by place.

    Identical rows are matched first, then rows of one configuration, then rows of the same results;
    last, within a table, rows with most cells in common.
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
    """The identical rows at the beginning and at the end: mostly all but one."""
    least = min(len(old), len(new))
    first = next((n for n in range(least) if not _same(old[n], new[n])), least)
    last = next((n for n in range(least - first) if not _same(old[-1 - n], new[-1 - n])),
                least - first)  # fmt: skip
    ends = {len(new) - 1 - n: len(old) - 1 - n for n in range(last)}
    return {n: n for n in range(first)} | ends


def _same(stated_row: StatedRow, other: StatedRow) -> bool:
    return stated_row.section == other.section and stated_row.has_content_of(other)


def _text(of: Mapping[str, str]) -> str:
    return repr(sorted(of.items()))


_KEYS: tuple[Callable[[StatedRow], object], ...] = (
    lambda row: (row.section, _text(row.settings), _text(row.printed)),
    lambda row: (_text(row.settings), _text(row.printed)),
    lambda row: (row.section, _text(row.settings)),
    lambda row: _text(row.settings),
    lambda row: (row.section, _text(row.printed)) if row.numbers else id(row),
    # A heading above was renamed or inserted, and with it the facts around the table.
    lambda row: _text(row.printed) if len(row.numbers) > 1 else id(row),
)


def _nearest(
    left: Mapping[int, StatedRow], right: Mapping[int, StatedRow], same: Collection[tuple[str, str]]
) -> Iterator[tuple[int, int]]:
    """Pairs of one table with most cells in common, the closest first.

    `same`: headings before and after that belong to one table, by other rows.
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


def _common(stated_row: StatedRow, other: StatedRow) -> float:
    """The share of cells that two rows have in common."""
    first = {*stated_row.settings.items(), *stated_row.printed.items()}
    second = {*other.settings.items(), *other.printed.items()}
    names = {name for name, _ in first | second}
    return len(first & second) / len(names) if names else 0.0
