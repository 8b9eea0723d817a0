"""Every answer by its name: choose the runs, sort out what is doubted, answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from ..reports.budget import Budget, planned
from ..reports.short import Names
from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from .answer import Answer
from .asked import Asked, Length
from .best import best
from .choosing import Chosen, choose
from .compare import compare
from .days import Plan, days
from .extrapolate import at_nodes
from .factors import Factor, factor, level, plain_name
from .gate import gated, nothing
from .goodput import measured
from .jobs import identity, pooled, spread_of
from .matching import differing, failures, matched, nearest_words, sides
from .pairing import TAKES_ALONG
from .rampup import parse_ramp_up
from .rows import CONFIGURATION, Row, Rows
from .scaling import scaling

SAME = "the same on both sides"


def answered(warehouse: Warehouse, name: str, asked: Asked, by: str | None = None) -> Answer:
    """The answer called `scaling`, `best`, `days` or `compare`, as commands and regions show it."""
    if name == "days":
        return lasting(warehouse, asked, Length())
    chosen = choose(warehouse, asked)
    if name == "compare":
        return gated(compared(chosen, by or "settings", None), [], False)
    return scaled(chosen) if name == "scaling" else ranked(warehouse, chosen, asked, by)


def scaled(chosen: Chosen) -> Answer:
    """How the runs chosen scale."""
    rows = chosen.sorted_out("rate")
    return scaling(chosen.names, rows.kept, rows.left_out)


def ranked(warehouse: Warehouse, chosen: Chosen, asked: Asked, by: str | None = None) -> Answer:
    """The runs chosen, the best first."""
    plan = planned(warehouse, asked.tokens, asked.steps)
    need = {"mem": "memory", "tflops": "tflops"}.get(by or "", "tokens_per_s")
    rows = chosen.sorted_out(need)
    told = budget_text(chosen.names, plan)
    column = by or "tokens_per_s"
    return best(chosen.names, rows, column, plan, chosen.spreads, asked.most, told)


def lasting(
    warehouse: Warehouse, asked: Asked, length: Length, chosen: Chosen | None = None
) -> Answer:
    """The days of the runs asked for; raises BenchError for sizes that nobody measured."""
    ramp = parse_ramp_up(length.ramp_up) if length.ramp_up else None
    if length.extrapolate and length.nodes is None:
        raise BenchError("--extrapolate needs a size", hint="--nodes 128 --extrapolate")
    chosen = chosen or choose(warehouse, asked)
    plan = planned(warehouse, asked.tokens, asked.steps)
    need = "tokens_per_s" if plan.tokens is not None else "steps_per_s"
    rows = on_nodes(chosen.sorted_out(need), length.nodes, length.extrapolate)
    told = Plan(plan, budget_text(chosen.names, plan), length.goodput, ramp)
    return days(chosen.names, rows, told, chosen.spreads, measured(warehouse), asked.most)


def compared(chosen: Chosen, by: str, base: str | None) -> Answer:
    """The runs chosen, by the values of one column; raises BenchError where none compare."""
    rows = chosen.sorted_out("pace")
    found = factor(by, [*rows.kept, *rows.left_out])
    _require_levels(rows, found)
    pairs, alone = matched(rows.kept, found, base, failures(rows.left_out))
    if not pairs:
        apart = nearest_words(rows.kept, rows.kept, found)
        raise nothing(f"no two runs differ in {found.name} alone; {apart}")
    unmatched = [{**row, "left_out": _alone_words(row, found)} for row in alone]
    left = (*rows.left_out, *unmatched)
    spreads = chosen.spreads
    return compare(
        chosen.names, found.name, pairs, left, lambda row: spread_of(row, spreads), found.parts
    )


def _alone_words(row: Row, by: Factor) -> str:
    """Why a run has no partner."""
    if by.parts & TAKES_ALONG.get(row["measure"], frozenset()):
        named = {"tflops": "TFLOPs", "step_time_s": "step times"}[row["measure"]]
        return f"{named} alone tell no speed across {by.name}"
    return f"no partner that differs in {by.name}"


def two_sides(
    words: tuple[str, str], before: Rows, after: Rows, conditions: bool = False
) -> Answer:
    """The runs of two sides, matched by configuration; raises BenchError where none are alike.

    `conditions`: the words are, and what they name is what they compare. A measurement that both
    sides hold, as two revisions of a document do, is one: it counts for the first side alone.
    """
    same, after = unchanged(before, after)
    rows = [*before.kept, *after.kept]
    names = Names({row["uri"] for row in (*rows, *before.left_out, *after.left_out)})
    known = pooled([before.kept, after.kept], "both sides")
    declared = _declared(words, rows) if conditions else frozenset[str]()
    failed = (failures(before.left_out), failures(after.left_out))
    pairs, parts = sides(before.kept, after.kept, words, declared, failed)
    if not pairs and not same:
        apart = nearest_words(before.kept, after.kept)
        raise nothing(f"no configuration is on both sides; {apart}")
    used = {id(row) for pair in pairs for row in pair.rows()}
    alone = [
        {**row, "left_out": SAME if id(row) in same else f"only in {word}"}
        for word, side in zip(words, (before, after), strict=True)
        for row in side.kept
        if id(row) not in used
    ]
    left = (*before.left_out, *after.left_out, *alone)
    answer = compare(names, "", pairs, left, lambda row: known)
    if not pairs:
        answer = replace(answer, said=("Nothing was measured anew: all runs are on both sides.",))
    if not parts:
        return answer
    told = ", ".join(sorted(plain_name(part) for part in differing(pairs, parts) or parts))
    return replace(answer, said=(f"The sides differ by {told}.", *answer.said))


def unchanged(before: Rows, after: Rows) -> tuple[frozenset[int], Rows]:
    """The runs of the first side, as ids of objects, that the second holds too; and the second
    without them."""
    shared = Counter(map(_measurement, before.kept)) & Counter(map(_measurement, after.kept))
    first, second = Counter(shared), Counter(shared)
    same = frozenset(id(row) for row in before.kept if _taken(first, row))
    kept = tuple(row for row in after.kept if not _taken(second, row))
    return same, replace(after, kept=kept)


def _taken(left: Counter[Hashable], row: Row) -> bool:
    """Whether a run is one of those counted, which is then one less."""
    key = _measurement(row)
    left[key] -= 1
    return left[key] >= 0


def _measurement(row: Row) -> Hashable:
    """Equal for what two readings tell of one measurement."""
    values = (row["pace"], row["tflops"], row["memory_gb"], *map(str, row["job_ids"] or ()))
    return (row["source"], identity(row), values)


def _declared(words: tuple[str, str], rows: Sequence[Row]) -> frozenset[str]:
    """What two conditions name is what they compare."""
    if not rows:
        return frozenset()
    named = {name for word in words for name in re.findall(r"[a-z_]+", word.casefold())}
    known = named & {*CONFIGURATION, "device", "settings", "date"}
    documents = {"document", "system"} if "uri" in named else set()
    return frozenset(part for name in known for part in factor(name, rows).parts) | documents


def on_nodes(rows: Rows, nodes: int | None, extrapolate: bool) -> Rows:
    """The rows measured on so many nodes, with `extrapolate` also what fits tell of that size.

    Raises BenchError, naming the sizes measured, when there are none.
    """
    if nodes is None:
        return rows
    kept = tuple(row for row in rows.kept if row["nodes"] == nodes)
    left = tuple(row for row in rows.left_out if row["nodes"] == nodes)
    broken = failures(rows.left_out)
    rated = [row for row in rows.kept if row["tokens_per_s"]]
    made = at_nodes(rated, nodes, broken) if extrapolate else Rows((), ())
    if not kept and not made.kept:
        measured = sorted({row["nodes"] for row in rows.kept if row["nodes"]})
        told = f"measured: {', '.join(map(str, measured)) or 'none that states its nodes'}"
        if extrapolate and not rated:
            told += "; a fit needs rows with tokens/s"
        if made.left_out:
            told += f"; a fit cannot tell: {made.left_out[0]['left_out']}"
        raise BenchError(
            f"nothing was measured on {nodes} nodes", why=told,
            hint="--nodes with one of these" + ("" if extrapolate else ", or --extrapolate"),
        )  # fmt: skip
    return Rows((*kept, *made.kept), (*left, *made.left_out))


def budget_text(names: Names, plan: Budget) -> str:
    """Who said what the budget is, as plain text."""
    if plan.origin == "stated" and plan.uri:
        return f"stated in {names.short(plan.uri)} l.{plan.line}"
    if plan.origin == "default":
        why = "the sources do not agree" if plan.others else "no source here states a budget"
        return f"{why}: the plan of 362k steps of 1,048,576 tokens; --tokens or --steps change it"
    return plan.origin


def _require_levels(rows: Rows, by: Factor) -> None:
    """Raises BenchError where the runs of all other values are left out, and says why."""
    known = {level(row, by) for row in rows.kept}
    others = [row for row in rows.left_out if level(row, by) not in known]
    if len(known) < 2 and others:
        first = next((row for row in others if row["pace"]), others[0])
        raise nothing(
            f"{len(others)} runs with another {by.name} are left out, such as"
            f" {first['where']}: {first['left_out']}"
        )
