"""Step time and loss of logs over their iterations, a curve per run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, cast

from ..decide.query import Query
from ..decide.rows import system_of
from ..decide.selection import select
from ..project.short_names import ShortNames
from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from ..vocabulary.format import counted, number, significant
from .chart_parts import ChartDraft

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .charts.curves import Curve

COLUMNS = {"steps": ("step_time_s", "Sec/it"), "loss": ("loss", "Loss")}
_MOST, _POINTS = 7, 200  # runs; points of a curve, beyond which medians of neighbors are drawn
_STEPS = """
    WITH steps AS (
        SELECT e.run_id, e.iteration, {value} AS value
        FROM effective_steps e LEFT JOIN iterations_corrected c
            ON c.run_id = e.run_id AND c.segment = e.segment
            AND c.iteration = e.iteration AND c.line = e.line
    )
    SELECT r.uri, r.line, r.size, r.model, r.system, coalesce(r.devices, r.world_size) AS devices,
        r.gbs, list(i.iteration ORDER BY i.iteration) AS xs,
        list(i.value ORDER BY i.iteration) AS ys
    FROM selected r JOIN steps i USING (run_id)
    WHERE r.origin = 'log' AND i.value IS NOT NULL AND isfinite(i.value)
    GROUP BY ALL HAVING count(*) > 2 ORDER BY count(*) DESC, r.uri, r.line"""


def curves(warehouse: Warehouse, names: ShortNames, name: str, query: Query) -> ChartDraft:
    """The chart `name` of the logs of a query; raises BenchError if none logs three steps."""
    column, head = COLUMNS[name]
    select(warehouse, query)
    value = "e.loss" if column == "loss" else "c.step_time_s"
    runs = warehouse.dicts(_STEPS.format(value=value))
    if not runs:
        raise BenchError("nothing to draw", why=f"no log here prints {head} of three steps or more",
                         hint="bench runs lists what there is")  # fmt: skip
    drawn = runs[:_MOST]
    labels = _labels(names, drawn)
    made = [one for run, label in zip(drawn, labels, strict=True) for one in _curves(label, run)]
    left = [f"{len(runs) - _MOST} of {len(runs)} runs, of fewest steps"] if runs[_MOST:] else []

    def draw(title: str) -> Figure:
        from .charts.curves import draw_curves

        return draw_curves(made, title, "Iteration", head)

    rows = tuple({**run, "where": f"{run['uri']}:{run['line']}"} for run in drawn)
    return ChartDraft(draw, rows, tuple(left), _message(names, name, drawn))


def _labels(names: ShortNames, runs: Sequence[Mapping[str, object]]) -> list[str]:
    """Labels that distinguish the runs: their logs, within one log their lines."""
    of_log = Counter(str(run["uri"]) for run in runs)
    if len(of_log) == 1 and len(runs) > 1:
        return [f"line {run['line']}" for run in runs]
    return [
        f"{names.short(uri)}:{run['line']}" if of_log[uri] > 1 else names.short(uri)
        for uri, run in ((str(run["uri"]), run) for run in runs)
    ]


def _curves(name: str, run: Mapping[str, object]) -> list[Curve]:
    """The curve of a run; for many steps their medians over the single ones, drawn pale."""
    from .charts.curves import Curve

    xs, ys = _numbers(run["xs"]), _numbers(run["ys"])
    if len(xs) <= _POINTS:
        return [Curve(name, xs, ys)]
    size = -(-len(xs) // _POINTS)
    starts = range(0, len(xs), size)
    middle = Curve(
        name,
        tuple(median(xs[at : at + size]) for at in starts),
        tuple(median(ys[at : at + size]) for at in starts),
    )
    return [Curve(name, xs, ys, quiet=True), middle]


def _message(names: ShortNames, name: str, runs: Sequence[Mapping[str, object]]) -> str:
    """A summary of the curves, in one sentence."""
    sizes = {str(run["size"]) for run in runs if run["size"]}
    systems = {_machine(names, str(run["system"])) for run in runs}
    models = sizes if len(sizes) < 2 else {f"{len(sizes)} models"}
    alike = [*models, *(systems if len(systems) == 1 else ()), *_shared(runs)]
    of = ", ".join(alike)
    begin = f"{of}: " if of else ""
    every = [(run, _numbers(run["ys"])) for run in runs]
    if name == "loss":
        run, ys = min(every, key=lambda one: one[1][-1])
        last = number(_numbers(run["xs"])[-1])
        lowest = "loss" if len(runs) == 1 else f"lowest of {len(runs)} losses:"
        fell = f"{significant(ys[-1], 3)} at iteration {last}, from {significant(ys[0], 3)}"
        return f"{begin}{lowest} {fell}" if begin else f"{lowest.capitalize()} {fell}"
    middles = [median(ys) for _, ys in every]
    if len(runs) == 1:
        ys = every[0][1]
        slow = sum(y > 1.5 * middles[0] for y in ys)
        spikes = f", {number(slow)} of {number(len(ys))} steps over 1.5 times that" if slow else ""
        return f"{begin}{significant(middles[0], 4)} s/it (median){spikes}"
    low, high = significant(min(middles), 4), significant(max(middles), 4)
    return f"{begin}{low} to {high} s/it (medians of {len(runs)} runs)"


def _shared(runs: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """The devices and the batch, where all runs state the same."""
    devices, batches = ({run[column] for run in runs} for column in ("devices", "gbs"))
    if len(devices) == 1 and (many := cast("int | None", devices.pop())):
        yield counted(many, "device")
    if len(batches) == 1 and (batch := batches.pop()):
        yield f"GBS {batch}"


def _machine(names: ShortNames, system: str) -> str:
    shown = names.system(system)
    return system_of(system) if shown == system else shown


def _numbers(values: object) -> tuple[float, ...]:
    return tuple(map(float, values)) if isinstance(values, list) else ()
