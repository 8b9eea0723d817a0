"""WHAT of `bench explain`: a run, a place, a bare number or a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
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
from . import decided, place, search
from .case import Case, case_of
from .decision import Question
from .formula import formula_named, no_formula
from .formula import matches as of_formula
from .found import Answer, Match
from .metric import METRICS, heads
from .number import parse_number
from .pooled import MEASURED
from .world import World, world

MOST = 20  # answers to a bare number, unless all are asked for
_FEW = 5  # answers to a bare number whose findings are told
_ALL = 50  # so few sources are audited together: what others say of the same run is told too
_METRIC = re.compile(r"(.+)\.([a-z_]+)")
_PLACE = re.compile(r"(.+?):(\d+)(?::(.+))?")
_SIDES = re.compile(r"(.+?)\s+/\s+(.+)")
_RUN = re.compile(r"[0-9a-f]{4,12}", re.I)


def explain(
    warehouse: Warehouse,
    root: Path,
    asked: str,
    *,
    question: Question | None = None,
    every: bool = False,
    facts: Sequence[UserFact] = (),
) -> Answer:
    """The derivation of whatever WHAT means; sources lie below `root`.

    `question` is that of the page or answer: its filters, its budget, what it compares; `facts`
    close findings. Raises BenchError for what is not there.
    """
    question = question or Question()
    about = question.asked
    here = world(warehouse, root, about.model, about.tokens, about.steps)
    kind, found = _dispatch(here, question, asked.strip())
    most = None if every or kind != "number" else MOST
    matches = tuple(islice(found, most))
    more = sum(1 for _ in found)
    if not matches:
        if (metric := _METRIC.fullmatch(asked)) and metric[2] in decided.NAMES - METRICS.keys():
            raise BenchError(
                f"no answer here tells {metric[2]} of {metric[1]}",
                why=f"it is a number of {' and '.join(decided.told_by(metric[2]))} alone",
                hint="give the options of that too: --by COLUMN, --where, --nodes, ...",
            )
        raise BenchError(
            f"nothing here prints {asked}",
            why="no cell, no line that states something and no computed value prints so",
            hint="bench explain takes RUN[.METRIC], FILE:LINE[:COLUMN], A / B, a number or a"
            " formula (F7); numbers of an answer need its --where, --by and the like",
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


def _dispatch(here: World, question: Question, asked: str) -> tuple[str, Iterator[Match]]:
    formula = formula_named(asked)
    if formula is not None:
        return "formula", of_formula(here, formula)
    if (number := parse_number(asked)) and not _is_run(here, asked):
        answers = decided.on_answers(here, question, number)
        return "number", _once(chain(search.matches(here, number), answers))
    if sides := _SIDES.fullmatch(asked):
        return "sides", decided.of_sides(here, question, (sides[2].strip(), sides[1].strip()))
    metric = _METRIC.fullmatch(asked)
    if metric and (metric[2] in METRICS or metric[2] in decided.NAMES):
        return "run", _of_run(here, question, metric[1], metric[2])
    if found := _PLACE.fullmatch(asked):
        if wrong := _METRIC.fullmatch(found[3] or ""):
            raise _no_metric(wrong[2])
        return "place", _at(here, found)
    if (problem := no_formula(asked)) and not _is_run(here, asked):
        raise problem
    if metric and (_is_run(here, metric[1]) or _PLACE.fullmatch(metric[1])):
        raise _no_metric(metric[2])
    return "run", _of_run(here, question, asked, None)


def _no_metric(name: str) -> BenchError:
    known = [*METRICS, *sorted(decided.NAMES - METRICS.keys())]
    return BenchError(f"no metric {name!r}", hint=f"metrics: {', '.join(known)}")


def _is_run(here: World, text: str) -> bool:
    if not _RUN.fullmatch(text):
        return False
    query = "SELECT 1 FROM runs WHERE starts_with(run_id, ?) LIMIT 1"
    return bool(here.warehouse.rows(query, [text.lower()])) and (
        len(text) == 12 or not text.isdigit()
    )


def _of_run(here: World, question: Question, asked: str, metric: str | None) -> Iterator[Match]:
    run = find_run(here.warehouse, asked)
    case = case_of(here.warehouse, here.lines, run)
    where = here.where(case.uri, case.row["line"])
    return _once(_derived(here, question, run, case, where, metric))


def _derived(
    here: World, question: Question, run: str, case: Case, where: str, metric: str | None
) -> Iterator[Match]:
    """What is known of a run, then what answers say of it."""
    if metric is None or metric in METRICS:
        derived = [METRICS[metric].derive(case, here.plan)] if metric else heads(case, here.plan)
        for node in derived:
            yield Match(f"{where}.{node.name}", "of this run", node)
    if metric is not None and metric in decided.NAMES and metric not in MEASURED:
        yield from decided.of_run(here, question, run, metric)


def _once(found: Iterable[Match]) -> Iterator[Match]:
    """Each value of a name once: what a run is, answers show again."""
    seen: set[tuple[str, object]] = set()
    for match in found:
        key = (match.tree.name, match.tree.value)
        if not (match.title.startswith("of bench ") and key in seen):
            yield match
        seen.add(key)


def _at(here: World, found: re.Match[str]) -> Iterator[Match]:
    uri = source_named(here.warehouse, found[1])
    column = int(found[3]) if found[3] and found[3].isdigit() else found[3]
    return place.matches(here, uri, int(found[2]), column)


def _findings(here: World, root: Path, matches: Iterable[Match]) -> Iterator[Finding]:
    """What the audit doubts of the lines that the answer rests on."""
    lines = {one for match in matches for one in match.tree.places()}
    if not lines:
        return
    [(sources,)] = here.warehouse.rows("SELECT count(*) FROM sources")
    found = audit(here.warehouse, None if sources <= _ALL else sorted({uri for uri, _ in lines}))
    for finding in placed(here.warehouse, found, root):
        if finding.rows() & lines:
            yield finding
