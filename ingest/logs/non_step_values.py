"""Values printed outside of steps: evaluations, timers, memory, and values of the whole run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...schema.rows import Rows
from ...vocabulary.secrets import redact_text
from .record import Fields, Record

# What a trainer prints of the whole training at its end, by our fields: its own name, and the unit.
SUMMARY = {
    "train_runtime_s": ("train_runtime", "s"),
    "train_samples_per_s": ("train_samples_per_second", ""),
}


@dataclass(slots=True)
class NonStepValues:
    """Stores each as it is read; `iteration` is the last step, for lines without one."""

    rows: Rows
    run_id: str
    timer: str | None = None  # the timer of the following lines of ranks
    evaluated: set[tuple[object, ...]] = field(default_factory=set)
    measured: set[tuple[str, str]] = field(default_factory=set)

    def evaluate(self, record: Record, line: int, iteration: int | None) -> None:
        """Losses on a validation or test set; copies by other ranks count once."""
        fields = record.fields
        losses, more = fields.get("losses", {}), fields.get("more", {})
        values = fields.get("values", {})
        assert isinstance(losses, dict) and isinstance(more, dict) and isinstance(values, dict)
        figures = losses | values
        if "value" in fields:  # one figure with its name
            figures = {str(fields["metric"]): fields["value"]}
            more = {}
        at = fields.get("iteration", iteration)
        place = fields.get("samples", at)
        name = str(fields.get("set", fields.get("name", "evaluation")))
        for metric in [*figures, *(more if "name" in fields or "set" in fields else ())]:
            value = figures.get(metric)
            copy = (place, name, metric, value)
            if place is not None and value is not None:
                if copy in self.evaluated:
                    continue
                self.evaluated.add(copy)
            self.rows.add(
                "evaluations",
                run_id=self.run_id,
                line=line,
                iteration=at,
                name=redact_text(name),
                metric=redact_text(metric),
                value=value,
            )

    def add_timers(self, record: Record, line: int, iteration: int | None) -> None:
        """Timers: for all ranks, minimum and maximum, or one line a rank below the name."""
        fields = record.fields
        values = fields.get("values")
        if isinstance(values, dict):
            for name, value in values.items():
                self._timer(name, value, value, line, iteration)
        elif "rank" in fields:
            if self.timer is not None:
                name = f"{self.timer} rank {fields['rank']}"
                self._timer(name, fields.get("max_ms"), fields.get("max_ms"), line, iteration)
        elif "max_ms" in fields:
            self._timer(
                str(fields["name"]), fields.get("min_ms"), fields["max_ms"], line, iteration
            )
        else:
            self.timer = str(fields["name"]) if "name" in fields else None

    def _timer(
        self, name: str, low: object, high: object, line: int, iteration: int | None
    ) -> None:
        row = {"iteration": iteration, "line": line, "name": name, "min_ms": low, "max_ms": high}
        self.rows.add("timers", run_id=self.run_id, **row)

    def add_memory(
        self, record: Record, line: int, iteration: int | None, rank: int | None = None
    ) -> None:
        """Memory readings, each with its kind and unit; `rank`: by the launcher's prefix."""
        readings = record.fields.get("memory")
        if not isinstance(readings, dict):
            return
        for kind, (value, unit) in readings.items():
            self.rows.add(
                "memory",
                run_id=self.run_id,
                iteration=record.fields.get("iteration", iteration),
                line=line,
                rank=record.fields.get("rank", rank),
                kind=kind,
                value=value,
                unit=unit or "",
            )

    def summarize(self, record: Record, line: int) -> None:
        """The figures of the whole training on the line of its end."""
        for name, (metric, unit) in SUMMARY.items():
            fields: Fields = {"metric": metric, "value": record.fields.get(name), "unit": unit}
            self.measure(replace(record, fields=fields), line)

    def measure(self, record: Record, line: int) -> None:
        """A value that the log reports for the whole run."""
        fields = record.fields
        metric, value = str(fields["metric"]), fields.get("value")
        if value is None or (metric, str(value)) in self.measured:
            return
        self.measured.add((metric, str(value)))
        self.rows.add(
            "measurements",
            run_id=self.run_id,
            metric=metric,
            value=value,
            unit=fields.get("unit", ""),
            low=None,
            high=None,
            raw=str(value),
            printed_unit=None,
            scope=fields.get("scope"),
            flags=[],
            marks=[],
            line=line,
        )
