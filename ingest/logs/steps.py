"""Rows of `iterations` while a log is read: several lines about one step make one row.

Lines are joined by their place in the log. The framework and its engine number steps alike, so
their lines are joined by number among the newest steps; a line without a step number belongs to
the newest step that has no such line yet, else to the next one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from ...schema.rows import Rows
from ...vocabulary.secrets import redact, redact_text
from .dialect import Dialect
from .equations import FirstSteps
from .record import Fields, Record
from .step import OPEN_STEPS, Ranks, Step, is_of, members_of, readings
from .step_blocks import StepBlock

# Several ranks print the same line at about the same time: a copy comes within so many lines.
COPIES_WITHIN = 64
PARTS_WITHIN = 400  # lines between a step and a line that belongs to it
# A new line, one of another rank with its own measurements, or a copy.
LineKind = Literal["new", "rank", "copy"]


@dataclass(slots=True)
class Steps:
    """The steps of one run; a row is stored when no later line can add to it."""

    run_id: str
    rows: Rows
    segment: int = 1
    iteration: int | None = None  # the last one
    count: int = 0
    copies: int = 0
    lost: int = 0  # losses whose lines give no step
    interval: int | None = None  # iterations between two lines, where an argument states it
    beginning: Fields = field(default_factory=dict)  # the first step of the segment
    first: FirstSteps = field(default_factory=FirstSteps)
    _last: dict[bool, int | None] = field(default_factory=dict)
    _first: int | None = None  # of the segment, by the framework's own lines
    _absolute: bool = False
    _restarted: int = 0  # a line after which steps may repeat, until the next step
    _printed_at: object = None  # when the newest step was printed, if the log says so
    _open: deque[Step] = field(default_factory=deque)
    _waiting: tuple[Dialect, Record, int] | None = None
    _recent: deque[str] = field(default_factory=lambda: deque(maxlen=COPIES_WITHIN))
    _ranks: Ranks = field(default_factory=Ranks)

    def add(self, dialect: Dialect, record: Record, line: int, rank_prefix: str = "") -> LineKind:
        """A line with a step number; the prefix distinguishes the processes of the log."""
        self._settle(line)
        iteration = record.fields["iteration"]
        assert isinstance(iteration, int)
        if self._starts_again(iteration, record.fields.get("printed_at")):
            self.restarted(line - 1)
            self._settle(line)
        key = dialect.name, iteration
        every = dialect.every_rank or self._is_repeated(dialect, iteration, line)
        if (kind := self._kind_of(every, record, key, rank_prefix, line)) != "new":
            return kind
        self._absolute = True
        step = self._open_step(dialect, iteration) or self._begin(dialect, iteration, line)
        self._ranks.add(key, rank_prefix, record.fields, line)
        self._merge(step, dialect, record)
        return "new"

    def part(self, dialect: Dialect, record: Record, line: int, rank_prefix: str = "") -> LineKind:
        """A line without a step number, or with one that restarts with the process."""
        self._settle(line)
        step = self.newest
        near = step is not None and line - step.line <= PARTS_WITHIN
        key = dialect.name, step.iteration if step is not None and near else 0
        lacks = step is not None and (dialect.name not in step.by or step.lacks(record.fields))
        belongs = step is not None and near and lacks and step.took_as_long(record.fields)
        if dialect.precedes_step and not belongs:
            self._begin_waiting()
            self._waiting = (dialect, record, line)
            return "new"
        # Where prefixes distinguish the processes, a repeated text is another process's, late.
        if not (lacks and near and not rank_prefix):
            kind = self._kind_of(dialect.every_rank, record, key, rank_prefix, line)
            if kind != "new":
                return kind
        if step is not None and near and lacks:
            self._recent.append(record.raw.strip())
            self._ranks.add(key, rank_prefix, record.fields, line)
            self._merge(step, dialect, record)
            return "new"
        # Before the first step: the end of one that the log does not show.
        waits = step is not None or dialect.secondary or "iteration" in record.fields
        self._begin_waiting()
        self._waiting = (dialect, record, line) if waits else None
        self.lost += not waits and "loss" in record.fields
        return "new"

    def _starts_again(self, iteration: int, at: object) -> bool:
        """Whether an earlier step is printed later than the newest: no other rank does that."""
        before, newest = self._printed_at, self.iteration
        if newest is None or iteration >= newest:
            self._printed_at = at
            return False
        timed = isinstance(at, datetime) and isinstance(before, datetime) and at > before
        return timed and newest - iteration >= OPEN_STEPS

    def _kind_of(
        self, every: bool, record: Record, key: tuple[str, int], rank_prefix: str, line: int
    ) -> LineKind:
        """Whether another rank printed this step before, verbatim or with its own measurements."""
        text = record.raw.strip()
        if text in self._recent:
            self.copies += 1
            return "copy"
        self._recent.append(text)
        every = every and self._ranks.knows(key)
        if not every and not self._ranks.repeats(key, rank_prefix, record.fields, line):
            return "new"
        self.copies += 1
        step = next((step for step in self._open if step.iteration == key[1]), None)
        if step is not None:
            step.spread.add(step.fields, record.fields)
        return "rank"

    def _is_repeated(self, dialect: Dialect, iteration: int, line: int) -> bool:
        """Whether a second engine of the program prints the step, as for actor and critic."""
        step = self._open[-1] if self._open and dialect.secondary else None
        printed = step is not None and step.iteration == iteration and dialect.name in step.by
        return step is not None and printed and line - step.line <= COPIES_WITHIN

    @property
    def begins_at(self) -> int | None:
        """The first step of the segment."""
        return self._first

    @property
    def is_numbered(self) -> bool:
        """Whether lines with step numbers, such as those of a bar, count the steps."""
        return self._absolute

    @property
    def newest(self) -> Step | None:
        """The newest step."""
        return self._open[-1] if self._open else None

    def goes_on(self, dialect: Dialect, first: int, texts: Callable[[], list[str]]) -> bool:
        """Whether steps from this one on are new, and no line read before belongs to them.

        `texts` are their lines: after a rewind they may be copies of earlier steps.
        """
        last = self._last.get(dialect.secondary)
        return (
            last is not None
            and last < first
            and self._waiting is None
            and not self._restarted
            and all(step.iteration < first for step in self._open)
            and (self.segment == 1 or set(texts()).isdisjoint(self._recent))
        )

    def take(self, many: StepBlock) -> tuple[int, int | None]:
        """Steps after the newest one: the last stay open, the caller stores the rows of the others.

        Returns their segment, and the iterations that the first of them is a mean over.
        """
        dialect, last = many.dialect, int(many.iterations[-1])
        length = self._length(int(many.iterations[0]), dialect.secondary)
        while self._open:
            self._store(self._open.popleft())
        for place in range(min(len(many.lines) - OPEN_STEPS, self.first.room)):
            self.first.add(self.segment, int(many.iterations[place]), many.fields(place))
        # The newest steps stay open, since later lines may still add to them.
        for place in range(len(many.lines) - OPEN_STEPS, len(many.lines)):
            before, iteration = many.iterations[place - 1 : place + 1].tolist()
            line = int(many.lines[place])
            step = Step(iteration, self.segment, iteration - before, line, dialect.secondary)
            step.merge(many.fields(place), secondary=False)
            step.secondary = dialect.secondary
            step.by.add(dialect.name)
            self._open.append(step)
        self._printed_at = many.fields(len(many.lines) - 1).get("printed_at")
        self._recent.extend(many.texts)
        self._ranks.add_many(
            dialect.name, many.iterations, many.lines, many.rank_prefix, many.fields
        )
        self.iteration = self._last[dialect.secondary] = last
        self.count += len(many.lines)
        self._absolute = True
        return self.segment, length

    def extend(self, fields: Fields) -> None:
        """The rest of the newest line, which was wrapped."""
        if self._open:
            self._open[-1].merge(fields, secondary=False)

    def restarted(self, line: int) -> None:
        """Steps after this line may repeat earlier ones."""
        self._restarted = line

    def _settle(self, line: int) -> None:
        if 0 < self._restarted < line:
            self._ranks.forget()
            self._recent.clear()
            self._restarted = 0

    def forget_parts(self) -> None:
        """Lines without a number become steps in another way."""
        self._waiting, self.lost, self.copies = None, 0, 0
        self._recent.clear()

    def finish(self) -> None:
        """The log ends."""
        self._begin_waiting()
        while self._open:
            self._store(self._open.popleft())

    def _begin_waiting(self) -> None:
        """The waiting line, which no numbered line followed, begins a step, if it has a number."""
        if self._waiting is None:
            return
        dialect, record, line = self._waiting
        self._waiting = None
        iteration = record.fields.get("iteration")
        numbered = isinstance(iteration, int) and iteration > 0
        if not isinstance(iteration, int) or not numbered or self._absolute:
            self.lost += "loss" in record.fields
            return
        self._merge(self._begin(dialect, iteration, line), dialect, record)

    def _open_step(self, dialect: Dialect, iteration: int) -> Step | None:
        same = (step for step in reversed(self._open) if step.iteration == iteration)
        return next((step for step in same if dialect.name not in step.by), None)

    def _begin(self, dialect: Dialect, iteration: int, line: int) -> Step:
        last = self._last.get(dialect.secondary)
        # A step that is no later than the one before was done again, from a checkpoint: a restart
        # within one log begins a new segment. Framework and engine count apart, since an engine's
        # line for a step may come after the framework's line for the next one.
        if last is not None and iteration <= last:
            self.segment += 1
            self._last.clear()
            self._first = None
            self._ranks.forget()
        length = self._length(iteration, dialect.secondary)
        step = Step(iteration, self.segment, length, line, dialect.secondary)
        self._open.append(step)
        self.iteration = iteration
        self.count += 1
        if len(self._open) > OPEN_STEPS:
            self._store(self._open.popleft())
        if self._waiting is not None and line - self._waiting[2] <= PARTS_WITHIN:
            (part, record, _), self._waiting = self._waiting, None
            # An engine's line is below its step: with another number it is of the one before.
            if not (part.secondary and dialect.secondary) or is_of(record, iteration):
                self._merge(step, part, record)
        return step

    def _length(self, iteration: int, secondary: bool) -> int | None:
        last = self._last.get(secondary)
        if last is None or iteration <= last:
            return None
        # A line for the first iteration alone (core 0.16+): the next one is a mean over it too.
        again = not secondary and last == self._first and self.interval is not None
        if again and self.interval == iteration - last + 1:
            return self.interval
        return iteration - last

    def _merge(self, step: Step, dialect: Dialect, record: Record) -> None:
        if step.secondary and not dialect.secondary and step.by:
            step.length = self._length(step.iteration, secondary=False)
        if step.segment == self.segment:
            self._last[dialect.secondary] = step.iteration
            if not dialect.secondary and self._first is None:
                self._first, self.beginning = step.iteration, step.fields
        secondary = dialect.secondary and bool(step.by)
        step.merge(record.fields, secondary)
        if not step.by:
            step.secondary = dialect.secondary
        step.by.add(dialect.name)
        if "memory" in record.fields:
            step.by |= readings(record.fields)

    def supply(self, known: Sequence[tuple[int, Record, int]]) -> None:
        """Steps, records and lines placed after all rows are stored; no value is replaced."""
        if not known:
            return
        stored = self.rows.by_table["iterations"]
        rows = {row["iteration"]: row for row in stored
                if (row["run_id"], row["segment"]) == (self.run_id, self.segment)}  # fmt: skip
        for iteration, record, line in known:
            step = Step(iteration, self.segment, None, line, secondary=False)
            step.merge(record.fields, secondary=False)
            self._store(step)
            if (row := rows.get(iteration)) is None:
                self.count += 1
                continue
            new = stored.pop()
            more = members_of(new.pop("more", None)) | members_of(row.get("more"))
            row |= {name: value for name, value in new.items() if row.get(name) is None}
            row |= {"more": more} if more else {}

    def _store(self, step: Step) -> None:
        row: Fields = {
            "run_id": self.run_id, "segment": step.segment, "interval_length": step.length,
            "iteration": step.iteration, "line": step.line,
        }  # fmt: skip
        row |= step.fields
        more = step.spread.members()
        if isinstance(printed := row.get("more"), dict):
            more = printed | more
        if more:
            row["more"] = {redact_text(key): redact(key, str(text)) for key, text in more.items()}
        self._name_losses(row)
        self.first.add(step.segment, step.iteration, step.fields)
        self.rows.by_table["iterations"].append(row)

    def _name_losses(self, row: Fields) -> None:
        """The losses by name; of a single one, which is the loss, the name alone."""
        losses = row.pop("losses", None)
        if not isinstance(losses, dict):
            losses = {"loss": row["loss"]} if "loss" in row else {}
        named = {redact_text(key): value for key, value in losses.items()}
        if list(named.values()) == [row.get("loss")]:
            [row["loss_name"]] = named
        elif named:
            row["losses"] = named
