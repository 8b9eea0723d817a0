"""Decisions about the selected runs: doubtful ones are excluded, the others compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from ..schema.errors import BenchError
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.format import counted
from .best import best
from .budget import Budget
from .budget_choice import by_model, planned
from .compare import compare
from .cost import ORDERED
from .days import Plan, days
from .eligible import Candidates, Rows, candidates
from .extrapolate import at_nodes
from .factors import Factor, factor, level, plain_name
from .gate import nothing
from .goodput import measured
from .jobs import identity, lacks_work
from .matching import differing, failures, matched, nearest_words, sides
from .pairing import DEPENDS_ON
from .query import Query
from .rampup import parse_ramp_up
from .rows import CONFIGURATION, Decision, load
from .scaling import curve, scaling
from .scaling_curves import Candidate, curves_among
from .selection import condition, select
from .spreads import pooled, spread_of

SAME = "the same on both sides"
_NUMBERED = re.compile(r"table [0-9]+")  # a variant that no words name: nobody set it
# The column that a run needs to be ranked; tokens/s of the job for days, hours and costs.
_NEEDS = {
    "tokens_per_s_per_device": "tokens_per_s_per_device", "samples_per_s": "samples_per_s",
    "mem": "memory", "mfu": "mfu", "tflops": "tflops",
}  # fmt: skip
# What to rank by where no run has tokens/s of the job.
_NEXT_RATES = ("samples_per_s", "tokens_per_s_per_device", "mfu", "tflops")


def scaled(chosen: Candidates, most: int = 0) -> Decision:
    """How the selected runs scale, with the laws of the `most` groups of most sizes (0: all)."""
    rows = chosen.eligible("rate")
    return scaling(rows.kept, rows.left_out, most)


def curves(chosen: Candidates, most: int = 0) -> list[dict[str, Any]]:
    """How the selected runs scale: a summary of each of `most` curves (0: all)."""
    return summaries(list(curves_among(chosen.eligible("rate").kept)), most)


def summaries(found: Sequence[Candidate], most: int = 0) -> list[dict[str, Any]]:
    """A summary of each curve; at most `most`, those with most sizes (0: all)."""
    longest = sorted(found, key=lambda candidate: -candidate.sizes)[: most or None]
    kept = {id(candidate) for candidate in longest}
    return [curve(candidate.group()) for candidate in found if id(candidate) in kept]


def ranked(
    warehouse: Warehouse, chosen: Candidates, query: Query, plan: Budget | None = None
) -> Decision:
    """The selected runs, best first; days are for `plan`, else for the budget that they state.

    Where no run has tokens/s of the job, the first of _NEXT_RATES that any has is ranked by; the
    fact `instead` is the reason.
    """
    plan = plan or planned(warehouse, query)
    column = query.ranked_by or "tokens_per_s"
    rows = chosen.eligible(_NEEDS.get(column, "tokens_per_s"))
    instead = None
    for other in _NEXT_RATES if column == "tokens_per_s" and not rows.kept else ():
        if (found := chosen.eligible(_NEEDS[other])).kept:
            instead = _most_frequent(rows.left_out, found.kept)
            column, rows = other, found
            break
    made = best(rows, column, plan, chosen.spreads, query.prices)
    return replace(made, facts={**made.facts, "instead": instead})


def _most_frequent(left_out: Sequence[Row], kept: Sequence[Row]) -> str:
    """The most frequent reason why these runs have no tokens/s of their jobs."""
    here = {row["run"] for row in kept}
    reasons = Counter(str(row["left_out"]) for row in left_out if row["run"] in here)
    return reasons.most_common(1)[0][0]


def lasting(warehouse: Warehouse, query: Query, chosen: Candidates | None = None) -> Decision:
    """The days of the selected runs; raises BenchError for sizes that were not measured."""
    ramp = parse_ramp_up(query.ramp_up) if query.ramp_up else None
    if query.extrapolate and query.nodes is None:
        raise BenchError("--extrapolate needs a size", hint="--nodes 128 --extrapolate")
    chosen = chosen or candidates(warehouse, query)
    plan = planned(warehouse, query)
    need = "tokens_per_s" if plan.tokens is not None else "steps_per_s"
    rows = on_nodes(chosen.eligible(need), query.nodes, query.extrapolate)
    order, own = ORDERED.get(query.by or "", "days"), by_model(warehouse, query)
    assumptions = Plan(plan, query.goodput, ramp, query.prices, order, own)
    return days(rows, assumptions, chosen.spreads, measured(warehouse))


def compared(chosen: Candidates, by: str, base: str | None) -> Decision:
    """The selected runs, by the values of one column; raises BenchError if none compare."""
    rows = chosen.eligible("pace")
    found = factor(by, [*rows.kept, *rows.left_out])
    _require_levels(rows, found)
    if (decision := _compared(chosen, rows, found, base)) is None:
        why = _apart_words(rows.kept, found)
        raise nothing(f"no two runs differ in {found.name} alone; {why}")
    return decision


def _compared(chosen: Candidates, rows: Rows, found: Factor, base: str | None) -> Decision | None:
    pairs, alone = matched(rows.kept, found, base, failures(rows.left_out))
    if not pairs:
        return None
    unmatched = [{**row, "left_out": _alone_words(row, found)} for row in alone]
    left = (*rows.left_out, *unmatched)
    spreads = chosen.spreads
    return compare(found.name, pairs, left, lambda row: spread_of(row, spreads), found.parts)


def effects(chosen: Candidates, more: Sequence[str] = ()) -> list[Decision]:
    """The effects of each flag, of recompute, and of `more` columns, as far as the selected runs
    differ in them."""
    flags = sorted(
        {
            flag
            for row in chosen.rows
            for flag, value in row["env"].items()
            if not _NUMBERED.fullmatch(str(value))
        }
    )
    rows = chosen.eligible("pace")
    every = [*rows.kept, *rows.left_out]
    decisions = []
    for by in (*flags, "recompute", *more):
        found = factor(by, every)
        if len({level(row, found) for row in rows.kept}) > 1 and (
            decision := _compared(chosen, rows, found, None)
        ):
            decisions.append(decision)
    return decisions


def _apart_words(rows: Sequence[Row], by: Factor) -> str:
    """Why no two of the runs compare."""
    known = [row for row in rows if not lacks_work(row)]
    if len(known) == len(rows):
        return nearest_words(rows, rows, by)
    silent = counted(len(rows) - len(known), "log states", "logs state")
    why = f"{silent} neither model nor batch size (--set model=..., gbs=...)"
    return f"{nearest_words(known, known, by)}; {why}" if len(known) > 1 else why


def _alone_words(row: Row, by: Factor) -> str:
    """Why a run has no partner."""
    if lacks_work(row):
        return "states neither model nor batch size, so that no other run is known to be like it"
    if by.parts & DEPENDS_ON.get(row["measure"], frozenset()):
        named = {"tflops": "TFLOPs", "step_time_s": "step times"}[row["measure"]]
        return f"{named} alone do not compare across {by.name}"
    return f"no partner that differs in {by.name}"


def two_sides(
    words: tuple[str, str], before: Rows, after: Rows, conditions: bool = False
) -> Decision:
    """The runs of two sides, matched by configuration; raises BenchError if none match.

    `conditions`: the words are conditions, and the columns in them are what is compared. A
    measurement on both sides, as in two revisions of a document, counts for the first alone.
    """
    # Two revisions of a document share most rows: a measurement against itself would be a pair
    # without any difference, and its jobs would be counted twice.
    same, after = unchanged(before, after)
    rows = [*before.kept, *after.kept]
    # Pooled within each side: the difference between sides is no spread between jobs.
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
    made = compare("", pairs, left, lambda row: known)
    declared = differing(pairs, parts) or parts
    sides_differ = sorted(plain_name(part) for part in declared)
    sources = {row["uri"] for row in (*rows, *before.left_out, *after.left_out)}
    more = {"unchanged": not pairs, "sides_differ": sides_differ, "sources": sources}
    return replace(made, facts={**made.facts, **more})


def unchanged(before: Rows, after: Rows) -> tuple[frozenset[int], Rows]:
    """The runs that both sides have, as ids of the objects of the first; and the second side
    without them."""
    shared = Counter(map(_measurement, before.kept)) & Counter(map(_measurement, after.kept))
    first, second = Counter(shared), Counter(shared)
    same = frozenset(id(row) for row in before.kept if _remove(first, row))
    kept = tuple(row for row in after.kept if not _remove(second, row))
    return same, replace(after, kept=kept)


def _remove(left: Counter[Hashable], row: Row) -> bool:
    """Whether a run is among those counted, whose count then drops by one."""
    key = _measurement(row)
    left[key] -= 1
    return left[key] >= 0


def _measurement(row: Row) -> Hashable:
    """Equal for two readings of one measurement."""
    values = (row["pace"], row["tflops"], row["memory_gb"], *map(str, row["job_ids"] or ()))
    return (row["source"], identity(row), values)


def _declared(words: tuple[str, str], rows: Sequence[Row]) -> frozenset[str]:
    """The columns that two conditions name: these are compared."""
    if not rows:
        return frozenset()
    named = {name for word in words for name in re.findall(r"[a-z_]+", word.casefold())}
    known = named & {*CONFIGURATION, "device", "settings", "date"}
    documents = {"document", "system"} if "uri" in named else set()
    return frozenset(part for name in known for part in factor(name, rows).parts) | documents


def on_nodes(rows: Rows, nodes: int | None, extrapolate: bool) -> Rows:
    """The rows measured on so many nodes, with `extrapolate` also those that fits predict.

    Raises BenchError, naming the sizes measured, if there are none.
    """
    if nodes is None:
        return rows
    kept = tuple(row for row in rows.kept if row["nodes"] == nodes)
    left = tuple(row for row in rows.left_out if row["nodes"] == nodes)
    # A fit does not model memory: never predict a size at which runs failed.
    broken = failures(rows.left_out)
    rated = [row for row in rows.kept if row["tokens_per_s"]]
    made = at_nodes(rated, nodes, broken) if extrapolate else Rows((), ())
    if not kept and not made.kept:
        measured = sorted({row["nodes"] for row in rows.kept if row["nodes"]})
        why = f"measured: {', '.join(map(str, measured)) or 'none that states its nodes'}"
        if extrapolate and not rated:
            why += "; a fit needs rows with tokens/s"
        if made.left_out:
            why += f"; no fit: {made.left_out[0]['left_out']}"
        raise BenchError(
            f"nothing was measured on {counted(nodes, 'node')}", why=why,
            hint="--nodes with one of these" + ("" if extrapolate else ", or --extrapolate")
            if measured
            else "--where 'device_count = 64' chooses by devices",
        )  # fmt: skip
    return Rows((*kept, *made.kept), (*left, *made.left_out))


def _require_levels(rows: Rows, by: Factor) -> None:
    """Raises BenchError, with the reason, if the runs of all other values are left out."""
    known = {level(row, by) for row in rows.kept}
    # The error would otherwise claim that nothing differs, though other runs are only left out.
    others = [row for row in rows.left_out if level(row, by) not in known]
    if len(known) < 2 and others:
        first = next((row for row in others if row["pace"]), others[0])
        raise nothing(
            f"left out: {counted(len(others), 'run')} with another {by.name}, such as"
            f" {first['where']}: {first['left_out']}"
        )


def neighbours_of_best(warehouse: Warehouse, query: Query) -> Decision:
    """The untried configurations one step from the best run of a query.

    Raises BenchError if there is no best run.
    """
    from .neighbours import memory_of, neighbours  # with the audit's model of memory

    decision = ranked(warehouse, candidates(warehouse, query), query)
    if not decision.rows:
        raise BenchError("no best run to start from", hint="bench best lists what is left out")
    first = decision.rows[0]
    # All runs, not only the selected ones: suggest nothing that was tried elsewhere.
    select(warehouse, Query())

    def allowed(row: Row) -> bool:
        return _satisfies(warehouse, query.where, row)

    return neighbours(first, load(warehouse), memory_of(warehouse, first["run"]), allowed)


def _satisfies(warehouse: Warehouse, where: str | None, row: Row) -> bool:
    """Whether a run with these sizes would satisfy the user's condition."""
    if where is None:
        return True
    sizes = [row[name] for name in ("dp", "tp", "pp", "mbs")]
    replaced = "dp, ?::INTEGER AS tp, ?::INTEGER AS pp, ?::INTEGER AS mbs"
    query = f"""SELECT ({condition(warehouse, where)}) IS TRUE FROM (
                SELECT * REPLACE (?::INTEGER AS {replaced}) FROM selected WHERE run_id = ?
                ) AS selected"""
    rows = warehouse.rows(query, [*sizes, row["run"]])
    return bool(rows and rows[0][0])
