"""Numbers of `bench report --flops` and `--suggestions`: restated rates, and what findings say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..audit.restate import HARDWARE, MODEL, Restated, restate_all
from ..reports.format import percent, significant
from .computed import by_formula, measured, world_size
from .found import Match
from .node import How, Node, Place
from .number import Number
from .world import World

_WANTED = (MODEL, HARDWARE, "F8", "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F9", "F10", "F12")
_SUGGESTED = """SELECT DISTINCT s.uri, f.line, f.rule, f.title, f.evidence, f.suggestion
    FROM findings f JOIN selected s USING (run_id)
    WHERE f.severity = 'error' AND contains(replace(f.suggestion, ',', ''), ?) ORDER BY ALL"""


def restated(world: World, number: Number) -> Iterator[Match]:
    """Runs whose TFLOP/s or share of the peak print so under some formula."""
    seen: set[tuple[str, str]] = set()
    for one in world.once("restated", lambda: _selected(world)):
        if (one.run_id, one.formula) not in seen and (name := _prints(number, one)):
            seen.add((one.run_id, one.formula))
            yield _match(world, one, name)


def _selected(world: World) -> list[Restated]:
    chosen = {run_id for (run_id,) in world.warehouse.rows("SELECT run_id FROM selected")}
    every = restate_all(world.warehouse, _WANTED).values()
    return [one for found in every for one in found if one.run_id in chosen]


def _prints(number: Number, one: Restated) -> str:
    """Which of its numbers prints so."""
    texts = {
        "tflops": significant(one.value, 3) if one.value is not None else "",
        "share": percent(one.share, 1) if one.share is not None else "",
        "printed": significant(one.printed, 4) if one.printed is not None else "",
        "printed_by": one.printed_by,
        "why": one.why,
    }
    return next((name for name, text in texts.items() if text and number.stands_in(text)), "")


def _match(world: World, one: Restated, name: str) -> Match:
    case = next(world.cases("run_id = ?", one.run_id))
    line: int | None = case.row["line"]
    place = Place(case.uri, line, None, world.lines.text(case.uri, line) if line else "")
    values: dict[str, tuple[Any, str]] = {
        "tflops": (one.value, "TFLOP/s of a process"),
        "share": (one.share, "of the device's dense peak"),
        "printed": (one.printed, "TFLOP/s as printed"),
        "printed_by": (one.printed_by, ""),
        "why": (one.why, ""),
    }
    value, unit = values[name]
    computed = name in ("tflops", "share") and one.formula
    node = Node(
        name, value, unit, one.low if name == "tflops" else None,
        one.high if name == "tflops" else None,
        how=by_formula(one.formula, "FLOP of a step / (step_time_s x world_size)")
        if computed else How(f"printed by {one.printed_by}") if name == "printed" else None,
        inputs=(measured(case, "step_time_s"), world_size(case)) if computed else (),
        place=None if computed else place,
        note=one.why if computed else "",
    )  # fmt: skip
    where = world.where(case.uri, line)
    return Match(where, f"by {one.formula}" if computed else "of the table of restated rates", node)


def suggested(world: World, number: Number) -> Iterator[Match]:
    """Findings that suggest the number."""
    for uri, line, rule, title, evidence, said in world.warehouse.rows(_SUGGESTED, [number.digits]):
        if number.stands_in(said):
            place = Place(uri, line, None, world.lines.text(uri, line))
            node = Node("suggestion", said, place=place, note=f"{rule}: {title}: {evidence}")
            yield Match(world.where(uri, line), f"suggested by {rule}", node)
