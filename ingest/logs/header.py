"""The arguments and header lines that a run prints before it trains, typed."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...schema.rows import Rows
from ...vocabulary.fields import axes, fields, stated_by
from ...vocabulary.hosts import MOST
from ...vocabulary.job_variables import states
from ...vocabulary.secrets import redact
from ..cast import CASTS, is_absent
from .record import Fields, Record

_STATED = stated_by("log")
RUN_COLUMNS = frozenset(field.name for field in _STATED if field.table == "runs")
TOPOLOGY_COLUMNS = frozenset(field.name for field in _STATED if field.table == "topology")
_CASTS = {"INTEGER": "integer", "BIGINT": "bigint", "BOOLEAN": "boolean"}  # of arguments
MOST_SAMPLES = 10**8  # of a training; of tokens there are more
ENDLESS = 2**31  # epochs, where a trainer prints the largest number that it knows
# Another process printed into the line: the text after the value is not part of it, and where the
# value ends cannot be known (`False.....`, `Nonedeepspeed_ccl_comm`, `0.001deepspeed info`).
_GLUED = re.compile(
    r"(?:True|False|None)[^\s,;:)\]}]|[^.]*+\.{5}"
    # `2.5min`, `1.0GiB` and `1.1beta` are values.
    r"|[-+]?\d++(?:\.\d*+(?:[eE][-+]?\d++)?(?!(?:[KMGTP]i?B|min|sec|hour|day|beta|alpha|dev|post)s?\d*\b)"
    r"[A-Za-z]{3}|\.?\[)"
)
NO_FACTS = frozenset(("more", "memory", "printed_at"))


@dataclass(frozen=True, slots=True)
class Argument:
    """One declared argument: our column and how its text becomes a value."""

    name: str
    column: str
    type: str = "varchar"
    when: str | None = None
    values: dict[str, object] | None = None

    def value(self, text: str) -> object:
        """The typed value; None for a text without one."""
        return CASTS[self.type](text) if self.values is None else self.values.get(text)

    def applies(self, other: str | None) -> bool:
        """Whether it holds beside the printed value of the argument `when`: stated, and not off."""
        on = other is not None and not is_absent(other) and other.lower() != "false"
        return self.when is None or on


@functools.cache
def declared_arguments() -> tuple[Argument, ...]:
    """The arguments that state a field, as `fields.toml` lists them."""
    return tuple(
        Argument(
            **{"type": _CASTS.get(field.type, "varchar"), "column": field.name}
            | ({"name": argument} if isinstance(argument, str) else dict(argument))
        )
        for field in fields().values()
        for argument in field.arguments
    )


@dataclass(slots=True)
class Header:
    """The facts of one run, stored as they are read; typed at the end."""

    run_id: str
    rows: Rows
    arguments: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)  # of arguments and of header columns
    stated: Fields = field(default_factory=dict)
    # By column: the values that settings print whose name alone is known, each with its line.
    named: dict[str, dict[object, int]] = field(default_factory=dict)
    hosts: set[str] = field(default_factory=set)  # as lines print them

    def argument(self, own: str, value: str, line: int, scope: str = "arguments") -> None:
        """One line of the arguments block; a block printed twice is one.

        Settings of other blocks are named by the block and the setting.
        """
        if scope == "arguments" and _GLUED.match(value):
            message = (
                f"argument {own} is left out: another process seems to have printed into its line"
            )
            self.rows.warn("argument_garbled", message, line)
            return
        name = own if scope == "arguments" else f"{scope}.{own}"
        if name in self.arguments:
            if scope == "arguments":
                self._check_again(name, value, line)
            return
        # A secret may be recognized by text within the value (`--token x`), so it is redacted too.
        self.arguments[name] = redact(own, value)
        self.lines[name] = line
        self._fact(own, self.arguments[name], line, scope)

    def _check_again(self, name: str, value: str, line: int) -> None:
        if redact(name, value) != self.arguments[name]:
            message = f"argument {name} is stated twice, the first value is kept"
            self.rows.warn("argument_conflict", message, line)

    def state(self, record: Record, line: int) -> None:
        """One header line; of a column stated twice the first value counts."""
        for column, value in record.fields.items():
            if column == "hosts":
                self.host(value, line)
            elif column not in self.stated and column not in NO_FACTS:
                self.stated[column] = value
                self.lines[column] = line
                self._fact(column, redact(column, str(value)), line, "header")

    def host(self, names: object, line: int) -> None:
        """A host of the run, or a list of them, if any: each process may name its own."""
        if isinstance(names, str) and names not in self.hosts and len(self.hosts) < MOST:
            self.hosts.add(names)
            self._fact("hosts", redact("hosts", names), line, "header")

    def name(self, record: Record, line: int) -> None:
        """Settings of which only the name is known: they fill what nothing else states."""
        for column, value in record.fields.items():
            if column not in NO_FACTS:
                self.named.setdefault(column, {}).setdefault(value, line)

    def place(self, variables: Mapping[str, tuple[str, int]]) -> None:
        """Hosts and nodes that only a scheduler's variables state: value and line of each."""
        for name, (text, line) in variables.items():
            column = states(name)
            value = CASTS["integer"](text) if column == "nodes" else text
            if column in ("hosts", "nodes") and value and column not in self.stated:
                self.stated[column] = value
                self.lines[column] = line
                self._fact(column, str(value), line, "job")

    def whole(self, name: str) -> int | None:
        """An argument that is a whole number, or None."""
        value = CASTS["bigint"](self.arguments.get(name, ""))
        return value if isinstance(value, int) else None

    def goal(self) -> int | None:
        """The iterations that are planned, where a header line states them."""
        goal = self.stated.get("train_iters") or self.whole("train_iters")
        return goal if isinstance(goal, int) and goal > 0 else None

    def step_at(self, consumed: int) -> tuple[int | None, bool]:
        """The step with this count of consumed samples or tokens; whether these are tokens.

        Where samples are counted they are seldom a whole number of batches of tokens as well.
        """
        batch, length = (self._stated_size(name) for name in ("gbs", "seq_len"))
        if batch and length and consumed % (batch * length) == 0:
            return consumed // (batch * length), True
        if batch and consumed % batch == 0 and (length or consumed < MOST_SAMPLES):
            return consumed // batch, False
        return None, False

    def _stated_size(self, column: str) -> int | None:
        declared = [argument for argument in declared_arguments() if argument.column == column]
        values = [one.value(self.arguments.get(one.name, "")) for one in declared]
        value = next((value for value in values if value), self.stated.get(column))
        return value if isinstance(value, int) and value > 0 else None

    def steps_per_epoch(self) -> float | None:
        """From planned steps and epochs; a stream of unknown length is one epoch."""
        steps, epochs = self.goal(), self.stated.get("num_epochs")
        if steps is None or not isinstance(epochs, int) or epochs < 1:
            return None
        return steps / epochs if epochs < ENDLESS else float(steps)

    def on_rank(self, record: Record, line: int) -> None:
        """Parameters on one model-parallel rank."""
        fields = record.fields
        count = fields.get("parameters", fields.get("billions"))
        unit = "" if "parameters" in fields else " billion"
        name = f"parameters on rank {fields['rank']}"
        if name not in self.lines:
            self.lines[name] = line
            self.stated.setdefault("parameters_on_rank", fields.get("parameters"))
            self._fact(name, f"{count}{unit}", line, "header")

    def _fact(self, name: str, raw: str, line: int, scope: str) -> None:
        value = None if is_absent(raw) else raw
        self.rows.add(
            "facts",
            run_id=self.run_id,
            field=name,
            value=value,
            raw=raw,
            line=line,
            scope=scope,
            how="stated",
        )

    def columns(self) -> Fields:
        """Every column that arguments or header lines give; the arguments' value counts."""
        columns: Fields = {}
        for argument in declared_arguments():
            value = self._value(argument)
            if value is not None and columns.get(argument.column) is None:
                columns[argument.column] = value
                self._compare(argument, value)
        for column in (RUN_COLUMNS | TOPOLOGY_COLUMNS) & self.stated.keys():
            if column not in columns:
                columns[column] = self.stated[column]
        for axis, size in _axes(str(self.stated.get("mesh", ""))):
            columns.setdefault(axis, size)
        for axis in axes():
            if group := self.stated.get(f"{axis}_group"):
                columns.setdefault(axis, str(group).count(",") + 1)
        self._fill_in(columns)
        self._whole_model(columns)
        return columns

    def _fill_in(self, columns: Fields) -> None:
        """Settings known by name, of columns that nothing else states; several values are none."""
        for column, values in self.named.items():
            if columns.get(column) is None and len(values) == 1:
                [(value, line)] = values.items()
                columns[column] = value
                self._fact(column, str(value), line, "header")

    def _value(self, argument: Argument) -> object:
        text = self.arguments.get(argument.name)
        if text is None or not argument.applies(self.arguments.get(argument.when or "")):
            return None
        value = argument.value(text)
        if value is None and argument.values is None and not is_absent(text):
            message = f"argument {argument.name} is no {argument.type}: {text}"
            self.rows.warn("argument_misfit", message, self.lines[argument.name])
        return value

    def _compare(self, argument: Argument, value: object) -> None:
        other = self.stated.get(argument.column)
        if other is not None and other != value:
            message = (
                f"{argument.column} is {value} in the arguments (line {self.lines[argument.name]}) "
                f"and {other} here; the arguments' value is kept"
            )
            self.rows.warn("header_conflict", message, self.lines[argument.column])

    def _whole_model(self, columns: Fields) -> None:
        # With one model-parallel rank its parameters are the model's; sums would count tied
        # embeddings twice, so for more ranks there are only the facts.
        parts = [columns.get(column) or 1 for column in ("tp", "pp", "ep")]
        known = columns.get("tp") is not None
        on_rank = self.stated.get("parameters_on_rank")
        if known and all(part == 1 for part in parts) and on_rank is not None:
            columns.setdefault("params_stated", on_rank)

    def framework(self) -> str | None:
        """The framework with its version, where a header line states it."""
        parts = [self.stated.get(key) for key in ("framework", "version")]
        text = " ".join(str(part) for part in parts if part is not None)
        return text or None


def _axes(mesh: str) -> list[tuple[str, int]]:
    """The axes of a mesh that are ours, with their sizes: `['dp', 'tp'], [4, 2]`."""
    names, _, sizes = mesh.partition("], [")
    pairs = zip(re.findall(r"\w+", names), re.findall(r"\d+", sizes), strict=False)
    return [(name, int(size)) for name, size in pairs if name in TOPOLOGY_COLUMNS]
