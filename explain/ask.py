"""WHAT of `bench explain`: a run, a place, a bare number or a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from ..audit.closing import closed
from ..audit.finding import Finding
from ..audit.places import placed
from ..audit.run import audit
from ..reports.selection import source_named
from ..reports.show import find_run
from ..schema.errors import BenchError
from ..schema.user_facts import UserFact
from ..schema.warehouse import Warehouse
from . import place, search
from .case import case_of
from .formula import formula_named
from .formula import matches as of_formula
from .found import Answer, Match
from .metric import METRICS, heads
from .number import parse_number
from .world import World, world

MOST = 20  # answers to a bare number, unless all are asked for
_FEW = 5  # answers to a bare number whose findings are told
_METRIC = re.compile(r"(.+)\.([a-z_]+)")
_PLACE = re.compile(r"(.+?):(\d+)(?::(.+))?")
_RUN = re.compile(r"[0-9a-f]{4,12}", re.I)


def explain(
    warehouse: Warehouse,
    root: Path,
    asked: str,
    *,
    model: str | None = None,
    tokens: int | None = None,
    steps: int | None = None,
    every: bool = False,
    facts: Sequence[UserFact] = (),
) -> Answer:
    """The derivation of whatever WHAT means; sources lie below `root`.

    `tokens` or `steps` set the budget of days; `facts` close findings. Raises BenchError for what
    is not there.
    """
    here = world(warehouse, root, model, tokens, steps)
    kind, found = _dispatch(here, asked.strip())
    most = None if every or kind != "number" else MOST
    matches = tuple(islice(found, most))
    more = sum(1 for _ in found)
    if not matches:
        raise BenchError(
            f"nothing here prints {asked}",
            why="no cell, no line that states something and no computed value prints so",
            hint="bench explain takes RUN[.METRIC], FILE:LINE[:COLUMN], a number or a formula (F7)",
        )
    told = matches if kind != "number" or len(matches) + more <= _FEW else ()
    uris = {uri for match in matches for uri, _ in match.tree.places()}
    return Answer(
        asked,
        kind,
        matches,
        more,
        tuple(closed(here.warehouse, list(_findings(here, root, told)), facts)),
        tuple(here.versions(uris)),
    )


def _dispatch(here: World, asked: str) -> tuple[str, Iterator[Match]]:
    formula = formula_named(asked)
    if formula is not None:
        return "formula", of_formula(here, formula)
    if (number := parse_number(asked)) and not _is_run(here, asked):
        return "number", search.matches(here, number)
    metric = _METRIC.fullmatch(asked)
    if metric and metric[2] in METRICS:
        return "run", iter(_of_run(here, metric[1], metric[2]))
    if found := _PLACE.fullmatch(asked):
        if wrong := _METRIC.fullmatch(found[3] or ""):
            raise _no_metric(wrong[2])
        return "place", _at(here, found)
    if metric and (_is_run(here, metric[1]) or _PLACE.fullmatch(metric[1])):
        raise _no_metric(metric[2])
    return "run", iter(_of_run(here, asked, None))


def _no_metric(name: str) -> BenchError:
    return BenchError(f"no metric {name!r}", hint=f"metrics: {', '.join(METRICS)}")


def _is_run(here: World, text: str) -> bool:
    if not _RUN.fullmatch(text):
        return False
    query = "SELECT 1 FROM runs WHERE starts_with(run_id, ?) LIMIT 1"
    return bool(here.warehouse.rows(query, [text.lower()])) and (
        len(text) == 12 or not text.isdigit()
    )


def _of_run(here: World, asked: str, metric: str | None) -> list[Match]:
    case = case_of(here.warehouse, here.lines, find_run(here.warehouse, asked))
    where = here.where(case.uri, case.row["line"])
    chosen = [METRICS[metric].derive(case, here.plan)] if metric else list(heads(case, here.plan))
    return [Match(f"{where}.{node.name}", "of this run", node) for node in chosen]


def _at(here: World, found: re.Match[str]) -> Iterator[Match]:
    uri = source_named(here.warehouse, found[1])
    column = int(found[3]) if found[3] and found[3].isdigit() else found[3]
    return place.matches(here, uri, int(found[2]), column)


def _findings(here: World, root: Path, matches: Iterable[Match]) -> Iterator[Finding]:
    """What the audit doubts of the lines that the answer rests on."""
    lines = {one for match in matches for one in match.tree.places()}
    if not lines:
        return
    uris = sorted({uri for uri, _ in lines})
    found = audit(here.warehouse, uris)
    for finding in placed(here.warehouse, found, root):
        if finding.rows() & lines:
            yield finding
