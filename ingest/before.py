"""Lines that stand above the one that begins a run, and belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .dialect import Dialect
from .record import Record

MOST_WAITING = 5000
STATED = frozenset(("header", "parameters", "argument", "block", "memory"))
Kept = tuple[Dialect, Record, int]


@dataclass(slots=True)
class Before:
    """Records that no run has taken yet, with their lines."""

    kept: list[Kept] = field(default_factory=list)

    def keep(self, dialect: Dialect, record: Record, line: int) -> None:
        """A record that may belong to the next run."""
        if len(self.kept) < MOST_WAITING and dialect.reads != "block":
            self.kept.append((dialect, record, line))

    def take(self) -> list[Kept]:
        """The records, once."""
        kept, self.kept = self.kept, []
        return kept

    def first(self) -> Kept | None:
        """What begins a run where no line does: a program that failed or timed itself is one."""
        kinds = {dialect.reads for dialect, _, _ in self.kept}
        if not kinds & {"failure", "timers", "measurement"}:
            return None
        begins = {"header"} | kinds & {"timers", "measurement"}
        return next((kept for kept in self.kept if kept[0].reads in begins), None)
