"""The charts of a model: speed over nodes, scaling, days, effects of settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..decide.budget import Budget
from ..decide.rows import Decision
from ..reports.answer import configuration_words, settings_apart
from ..reports.chart_parts import of_one_origin
from ..reports.words import label_of
from ..schema.warehouse import Row
from ..vocabulary.format import counted, days, number, percent, significant
from .charts import Chart, Plot, front, scatter
from .distinct_names import curves_apart
from .effects import effects_chart
from .labels import Labels
from .run_table import look_of, run_cell
from .svg import Mark
from .table import Cell, Table, column

# Columns used in labels, where they differ.
_LABEL = (
    "dp", "tp", "pp", "cp", "mbs", "gbs", "zero_stage", "recompute", "dtype", "seq_len", "layers",
    "heads", "nodes",
)  # fmt: skip
SETTINGS = ("mbs", "tp", "pp", "cp", "zero_stage", "dtype")  # in addition to flags and recompute
# The looks of hollow marks, in the words of a chart's note.
_HOLLOW = {
    "estimated": "an estimate of its authors",
    "left-out": "not counted (doubted, or no measurement)",
    "copied": "a copy of another run",
}
_MOST = 7  # maximum of series; all others share one more
_TOLD = 20  # maximum of runs of one label that are told apart
_TABLE = 200  # maximum of rows in a chart's table


def charts(
    labels: Labels,
    rows: Sequence[Row],
    best: Decision,
    scaling: Decision,
    changed: Sequence[Decision],
    plan: Budget,
    root: str,
) -> list[Chart]:
    """The charts that have data."""
    drawer = Drawer(labels, rows, root)
    count, what = (
        ("nodes", "Nodes")
        if all(row["nodes"] for row in rows if row["aggregate_pflops"])
        else ("device_count", "Devices")
    )
    devices, shares = "device_count", {row["run"] for row in of_one_origin(rows)}
    of_days = f"days {plan.purpose}"
    found = [
        drawer.runs(
            "aggregate",
            "Aggregate model PFLOP/s",
            count,
            what,
            "aggregate_pflops",
            "model PFLOP/s of the job",
            significant,
            ends=("aggregate_low", "aggregate_high"),
        ),
        _scaling(drawer, scaling, root),
        drawer.runs(
            "front",
            f"Devices against {of_days}",
            devices,
            "Devices",
            "days",
            of_days,
            days,
            value=plan.days,
            fronts=True,
        ),
        drawer.runs(
            "mfu",
            "Model FLOPs utilization",
            devices,
            "Devices",
            "mfu",
            "MFU",
            percent,
            value=lambda row: row["mfu"] if row["run"] in shares else None,
            log=False,
        ),
        effects_chart(labels, [row for decision in changed for row in decision.rows], root),
    ]
    return [one for one in found if one is not None]


class Drawer:
    """Draws marks of runs, with one series per system."""

    def __init__(self, labels: Labels, rows: Sequence[Row], root: str) -> None:
        self.labels, self.rows, self.root = labels, rows, root
        self.has_aggregate = any(row["aggregate_pflops"] for row in rows)
        count: dict[str, int] = {}
        for row in rows:
            count[row["system"]] = count.get(row["system"], 0) + 1
        order = sorted(count, key=lambda name: -count[name])
        self.systems = {name: min(at, _MOST) for at, name in enumerate(order)}
        names = [labels.text.line(labels.names.system(name), 40) for name in order[:_MOST]]
        parts = [name for name in _LABEL if len({str(row[name]) for row in rows}) > 1]
        self.apart = {
            row["run"]: " ".join(
                label_of(name, row[name]) for name in parts if row[name] is not None
            )
            for row in rows
        }
        self._tell_apart()
        self.names = names + (["other systems"] if len(order) > _MOST else [])

    def _tell_apart(self) -> None:
        """Add the settings in which runs of equal labels differ."""
        alike: dict[str, list[Row]] = {}
        for row in self.rows:
            alike.setdefault(self.apart[row["run"]], []).append(row)
        for label, rows in alike.items():
            if 1 < len(rows) <= _TOLD:
                more, _ = settings_apart([row["settings"] for row in rows])
                for row, words in zip(rows, more, strict=True):
                    self.apart[row["run"]] = " ".join(filter(None, (label, words)))

    def runs(
        self,
        id: str,
        title: str,
        x: str,
        x_title: str,
        y: str,
        y_title: str,
        text: Callable[..., str],
        *,
        value: Callable[[Row], float | None] | None = None,
        ends: tuple[str, str] | None = None,
        log: bool = True,
        fronts: bool = False,
    ) -> Chart | None:
        """A scatter plot of runs over nodes or devices."""
        pairs = []
        for row in self.rows:
            found = value(row) if value else row[y]
            if row[x] and found and row["origin"] != "quote":
                pairs.append((row, float(found)))
        # Dots in rows are told apart by the settings in which they differ.
        of_one_size = len({row[x] for row, _ in pairs}) == 1
        drawn = [row for row, _ in pairs]
        apart = Drawer(self.labels, drawn, self.root).apart if of_one_size else self.apart
        marks = [
            self.mark(row, float(row[x]), at, _quantity(text(at), y_title), ends, apart)
            for row, at in pairs
        ]
        lines = (
            [(n, front([m for m in marks if m.series == n])) for n in range(len(self.names))]
            if fronts
            else []
        )
        # Of one size they are dots in rows, without a line.
        if fronts and len({mark.x for mark in marks}) == 1:
            title, fronts = y_title[0].upper() + y_title[1:], False
        looks = {mark.look for mark in marks}
        kinds = [words for look, words in _HOLLOW.items() if look in looks]
        note = f"hollow: {' or '.join(kinds)}" if kinds else ""
        if fronts:
            note = "; ".join(filter(None, ("line: none of its system is better in both", note)))
        # For runs of one size, days and MFU rank like the total throughput.
        if id in ("front", "mfu") and len({mark.x for mark in marks}) == 1 and self.has_aggregate:
            return None
        least = id == "front"
        plot = Plot(
            id=id,
            title=title if id == "all" else self._message(title, marks, x_title, text, least),
            marks=marks,
            series=self.names,
            x_title=x_title,
            y_title=y_title,
            number=y,
            note=note,
            least_first=least,
            log_y=log,
            zero=not log,
            lines=lines,
            y_text=text if not log else None,
        )
        return scatter(plot, self.root, self.table(id, title, x_title, y_title, pairs, x, text))

    def _message(
        self, title: str, marks: Sequence[Mark], x_title: str, text: Callable[..., str], least: bool
    ) -> str:
        """A title with the best of what was measured, and on what."""
        measured = [mark for mark in marks if not mark.look]
        if len(measured) < 2:
            return title
        best = (min if least else max)(measured, key=lambda mark: mark.y)
        value = percent(best.y, 1) if text is percent else text(best.y)
        size = counted(best.x, x_title.lower().removesuffix("s"))
        system = f", {self.names[best.series]}" if len(self.names) > 1 else ""
        return f"{title}: {'as few as' if least else 'up to'} {value} on {size}{system}"

    def mark(
        self,
        row: Row,
        x: float,
        y: float,
        says: str,
        ends: tuple[str, str] | None = None,
        apart: Mapping[str, str] | None = None,
    ) -> Mark:
        """A run as a mark that links to its page, labelled with its words in `apart`."""
        labels = self.labels
        words = labels.text.line(configuration_words({**row, "settings": None}), 90)
        note = f"{words}: {says} ({labels.place(row)})"
        low, high = (row[ends[0]], row[ends[1]]) if ends else (None, None)
        run = labels.id(row["run"]) if row["run"] in labels.with_pages else ""
        return Mark(
            x,
            y,
            note,
            labels.href(row["run"]),
            run,
            self.systems[row["system"]],
            look_of(row),
            labels.text.line((apart or self.apart)[row["run"]] or labels.place(row), 120),
            low,
            high,
        )

    def table(
        self,
        id: str,
        title: str,
        x_title: str,
        y_title: str,
        pairs: Sequence[tuple[Row, float]],
        x: str,
        text: Callable[..., str],
    ) -> Table:
        """The table of a chart, the largest number first."""
        shown = sorted(pairs, key=lambda pair: -pair[1])[:_TABLE]
        labels = self.labels
        line = labels.text.line
        return Table(
            f"{id}-table",
            title,
            [
                column("run", "Run", shown, lambda of: run_cell(labels, of[0])),
                column("system", "System", shown,
                       lambda of: Cell(line(labels.names.system(of[0]["system"]), 60))),
                column("x", x_title, shown, lambda of: Cell(of[0][x], number(of[0][x])),
                       kind="number"),
                column("y", y_title, shown, lambda of: Cell(of[1], text(of[1]), look="computed"),
                       kind="number"),
                column("counts", "Counts", shown,
                       lambda of: Cell("no" if of[0]["left_out"] else "yes")),
            ],
            looks=[look_of(row) for row, _ in shown],
        )  # fmt: skip


def _quantity(value: str, title: str) -> str:
    """A value with its title as its unit: 2.587 model PFLOP/s, 35 years per 100B tokens."""
    unit = title.removesuffix(" of the job")
    return f"{value} {unit.removeprefix('days ') if value.endswith('years') else unit}"


def _at_largest(marks: Sequence[Mark]) -> str:
    """The efficiencies at the largest size: 87.3% to 103.7% on 64 devices."""
    largest = max(mark.x for mark in marks)
    shares = [mark.y for mark in marks if mark.x == largest]
    ends = dict.fromkeys(percent(share, 1) for share in (min(shares), max(shares)))
    return f"{' to '.join(ends)} on {counted(largest, 'device')}"


def _scaling(drawer: Drawer, scaling: Decision, root: str) -> Chart | None:
    """The efficiency of each size relative to the smallest with the same settings."""
    rows = [row for row in scaling.rows if row["efficiency"] and row["device_count"]]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    marks, lines = [], []
    curves = [[row for row in rows if row["group"] == group] for group in groups[:_MOST]]
    names = curves_apart([members[0] for members in curves], drawer.labels.names.system)
    series = [drawer.labels.text.line(name, 60) for name in names] if len(curves) > 1 else [""]
    for at, members in enumerate(curves):
        for row in members:
            made = drawer.mark(
                row,
                float(row["device_count"]),
                row["efficiency"],
                f"{percent(row['efficiency'], 1)} of ideal",
            )
            marks.append(Mark(made.x, made.y, made.note, made.href, made.run, at, made.look))
        lines.append((at, [(float(row["device_count"]), row["efficiency"]) for row in members]))
    if len(marks) < 2:
        return None
    left = len(groups) - _MOST
    more = f"; {counted(left, 'more curve')} not drawn" if left > 0 else ""
    plot = Plot(
        id="efficiency",
        title=f"Scaling efficiency: {_at_largest(marks)}",
        marks=marks,
        series=series,
        x_title="Devices",
        y_title="of ideal scaling",
        number="tokens_per_s",
        note=f"against the smallest run of the same settings{more}",
        log_y=False,
        zero=True,
        lines=lines,
        rule=1.0,
        y_text=percent,
    )
    pairs = [(row, float(row["efficiency"])) for row in rows]
    return scatter(
        plot,
        root,
        drawer.table(
            "efficiency", plot.title, "Devices", "Efficiency", pairs, "device_count", percent
        ),
    )
