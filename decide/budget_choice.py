"""The budget of a page: by an option, of bench.toml, or what the sources agree on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from ..vocabulary.sizes import Length, parse_size
from .budget import IN_SETTINGS, Budget
from .query import Query

UNIT = 100_000_000_000  # tokens: days are per so many if no budget is stated
UNIT_OF_TOYS, TOY = 1_000_000_000, 0.01  # of models below so many parameters, in 1e9
_SHORTEST = 1_000  # steps: so few are those of a measurement, no training


def budget(
    plans: Sequence[Mapping[str, Any]],
    sizes: set[float],
    query: Query,
    documents: Collection[str] = (),
) -> Budget:
    """The budget by --tokens or --steps, else bench.toml's of the model, else what the sources
    agree on, else 100B tokens as a unit.

    All `documents` with rows of these sizes must state it: one plans for its own runs. Logs state
    none, and follow the documents beside them. Raises BenchError for both options together.
    """
    if query.tokens is not None and query.steps is not None:
        raise BenchError(
            "--tokens and --steps are two budgets", why="each sets the length of the training",
            hint="use one of them",
        )  # fmt: skip
    if query.tokens is not None:
        return Budget(query.tokens, None, None, "--tokens")
    if query.steps is not None:
        return Budget(None, query.steps, None, "--steps")
    if own := _set_for(sizes, query.lengths):
        return own
    stated = [(plan, budget) for plan in plans if (budget := _stated(plan, sizes))]
    covered = {size for plan, _ in stated for size in _planned_sizes(plan, sizes)}
    # Two documents with one plan agree; with two, no guess which is meant.
    differ = _merged([budget for _, budget in stated])
    # Models of other documents have no plan: no days to train them.
    agreed = {*documents} <= {plan["uri"] for plan, _ in stated}
    if len(differ) == 1 and sizes <= covered and agreed:
        return stated[0][1]
    return Budget(UNIT, None, None, "unit", others=differ)


def _merged(stated: Sequence[Budget]) -> tuple[Budget, ...]:
    """One budget for each number of tokens, as first stated; the smallest first."""
    found: dict[int, Budget] = {}
    for one in stated:
        first = found.setdefault(one.tokens or 0, one)
        if first is not one:
            found[one.tokens or 0] = replace(first, stated_by=(*first.stated_by, *one.stated_by))
    return tuple(found[tokens] for tokens in sorted(found))


def _planned_sizes(plan: Mapping[str, Any], sizes: set[float]) -> set[float]:
    """The sizes that a plan is for: the one it states, else those of its source."""
    size = parse_size((plan["detail"] or {}).get("size") or "")
    return {size} if size is not None else set(plan.get("sizes", sizes))


def _set_for(sizes: set[float], lengths: Mapping[float, Length]) -> Budget | None:
    """The budget of bench.toml for all sizes; None: it has none, or several."""
    found = {lengths.get(size) for size in sizes}
    length = found.pop() if len(found) == 1 else None
    return Budget(length.tokens, length.steps, None, IN_SETTINGS) if length else None


def planned(warehouse: Warehouse, query: Query) -> Budget:
    """The budget of a query for the runs of the temporary table `selected`."""
    stated, known, documents = plans(warehouse)
    found = budget(stated, known, query, set[str]().union(*documents.values()))
    if not found.is_unit:
        return found
    labels = warehouse.rows("SELECT DISTINCT size FROM selected WHERE size IS NOT NULL")
    sizes = [parse_size(label) or TOY for (label,) in labels]
    # A toy model is not trained for years: a unit of its order.
    return replace(found, tokens=UNIT_OF_TOYS) if sizes and max(sizes) < TOY else found


def by_model(warehouse: Warehouse, query: Query) -> dict[float, Budget]:
    """The budget of each model of the temporary table `selected`, by its size: as on its page."""
    stated, sizes, documents = plans(warehouse)
    found = {}
    for size in sizes:
        here = [{**plan, "sizes": {size}} for plan in stated if size in plan["sizes"]]
        own = budget(here, {size}, query, documents.get(size, ()))
        found[size] = replace(own, tokens=UNIT_OF_TOYS) if own.is_unit and size < TOY else own
    return found


def plans(warehouse: Warehouse) -> tuple[list[dict[str, Any]], set[float], dict[float, set[str]]]:
    """What the selected sources state of the training's length, the sizes selected, and the
    documents with rows of each size."""
    stated = warehouse.dicts(
        """SELECT uri, line, value, unit, detail FROM statements
           WHERE kind = 'plan' AND uri IN (SELECT uri FROM selected) ORDER BY uri, line"""
    )
    by_source: dict[str, set[float]] = {}
    documents: dict[float, set[str]] = {}
    for uri, size, in_document in warehouse.rows(
        """SELECT uri, params_b, bool_or(origin = 'row') FROM selected
           WHERE params_b IS NOT NULL GROUP BY uri, params_b"""
    ):
        by_source.setdefault(uri, set()).add(size)
        if in_document:
            documents.setdefault(size, set()).add(uri)
    sizes = set[float]().union(*by_source.values())
    found = [{**plan, "sizes": by_source.get(plan["uri"], set())} for plan in stated]
    return found, sizes, documents


def _stated(plan: Mapping[str, Any], sizes: set[float]) -> Budget | None:
    detail = plan["detail"] or {}
    size = parse_size(detail["size"]) if detail.get("size") else None
    # A plan for 13B does not apply to the 1.3B runs in the same document.
    if size is not None and sizes and size not in sizes:
        return None
    # A plan in a sentence may be any number.
    if not 0 < plan["value"] < 1e18:
        return None
    by = ((plan["uri"], size),)
    if plan["unit"] == "tokens":
        tokens = round(plan["value"])
        return Budget(tokens, None, None, "stated", plan["uri"], plan["line"], stated_by=by)
    if not (detail.get("gbs") and detail.get("seq_len")):
        return None
    per_step, steps = int(detail["gbs"]) * int(detail["seq_len"]), round(plan["value"])
    if not per_step or steps < _SHORTEST:
        return None
    tokens = steps * per_step
    return Budget(tokens, steps, per_step, "stated", plan["uri"], plan["line"], stated_by=by)
