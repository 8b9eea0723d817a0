"""One row of `iterations` in the making."""

from __future__ import annotations

from dataclasses import dataclass, field

from .ranks import Spread
from .record import NO_COLUMNS, Fields


@dataclass(slots=True)
class Step:
    """One row in the making; `by` names the formats that spoke of it."""

    iteration: int
    segment: int
    length: int | None
    line: int
    secondary: bool
    fields: Fields = field(default_factory=dict)
    by: set[str] = field(default_factory=set)
    spread: Spread = field(default_factory=Spread)

    def merge(self, fields: Fields, secondary: bool) -> None:
        """Add what a line says; the framework's own values count, others stand beside them."""
        for column, value in fields.items():
            if column == "epoch":
                self._more({column: str(value)})
            if column in NO_COLUMNS:
                continue
            have = self.fields.get(column)
            if have is None:
                self.fields[column] = value
            elif column == "printed_at":
                continue
            elif have != value and secondary:
                self._more({column: str(value)})
            elif have != value:
                self.fields[column] = value
                if self.secondary:
                    self._more({column: str(have)})
        for name in ("losses", "more"):
            members = fields.get(name)
            if isinstance(members, dict) and members:
                below = self.fields.get(name)
                self.fields[name] = (below if isinstance(below, dict) else {}) | members
        self.secondary = self.secondary and secondary

    def lacks(self, fields: Fields) -> bool:
        """Whether nothing of what a line says has been said: a metric a line, not a step a line."""
        own = fields.keys() - NO_COLUMNS - {"printed_at"}
        said, told = self.fields.get("more"), fields.get("more")
        known = said.keys() if isinstance(said, dict) else set()
        words = told.keys() if isinstance(told, dict) else set()
        new = own or words or readings(fields)
        return bool(new) and not (own & self.fields.keys() or words & known
                                  or readings(fields) & self.by)  # fmt: skip

    def took_as_long(self, fields: Fields) -> bool:
        """Whether a line prints the time of this step, to hundredths."""
        own, other = self.fields.get("step_time_s"), fields.get("step_time_s")
        return isinstance(own, float) and isinstance(other, float) and abs(own - other) < 0.0051

    def _more(self, members: dict[str, str]) -> None:
        below = self.fields.get("more")
        self.fields["more"] = members | (below if isinstance(below, dict) else {})


def readings(fields: Fields) -> set[str]:
    """Names for the readings of memory that a line brings."""
    memory = fields.get("memory")
    return {f"memory: {kind}" for kind in memory} if isinstance(memory, dict) else set()
