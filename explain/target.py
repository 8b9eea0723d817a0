"""WHAT of `bench explain`: a run, a place, a bare number, a formula or a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

from ..audit.closed_findings import closed
from ..audit.finding import Finding
from ..audit.places import placed
from ..audit.store import stored_findings
from ..decide.lookup import find_run, source_named
from ..decide.query import Query
from ..schema.annotation import Annotation
from ..schema.errors import BenchError, did_you_mean
from ..schema.warehouse import Warehouse
from . import place, search
from .columns import derive, heads, names
from .context import ExplainContext, explain_context
from .formula import formula_named, no_formula, rule_named
from .formula import matches as of_formula
from .number import PrintedNumber, parse_number
from .page import restated
from .run import RunContext, run_context
from .tree import Answer, Match

MOST = 20  # answers to a bare number, unless all are requested
_FEW = 5  # maximum of answers to a bare number for listing findings
_ALL = 50  # maximum of sources audited together, for findings across sources
_COUNTED = 80  # further answers that are counted
_METRIC = re.compile(r"(.+)\.([a-z_]+)")
_PLACE = re.compile(r"(.+?):(\d+)(?::(.+))?", re.S)
_SIDES = re.compile(r"(.+?)(?<!\s)\s+/\s++(.+)", re.S)
_RUN = re.compile(r"[0-9a-f]{4,12}", re.I)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The matches of a question, derived as they are taken, and where nothing was searched."""

    kind: str  # run, place, number, formula, rule, sides
    matches: Iterator[Match]
    not_searched: tuple[str, ...] = ()


def explain(
    warehouse: Warehouse,
    root: Path,
    text: str,
    *,
    query: Query | None = None,
    every: bool = False,
    facts: Sequence[Annotation] = (),
) -> Answer:
    """Resolve WHAT and derive it; sources lie below `root`.

    `query` has the filters, budget and comparison of the page or answer; `facts` close findings.
    Raises BenchError for an unknown run, place, number, formula or rule.
    """
    query = query or Query()
    context = explain_context(warehouse, root, query)
    found = _dispatch(context, query, text.strip(), every)
    kind = found.kind
    # Only numbers are ambiguous: in other cases every match is an answer.
    most = None if every or kind != "number" else MOST
    matches = tuple(islice(found.matches, most))
    # Counting derives each one.
    more = sum(1 for _ in islice(found.matches, None if most is None else _COUNTED))
    if not matches:
        raise _nothing(text)
    left = found.not_searched
    notes = [f"not searched: {', '.join(left)}: --all"] if left else []
    if most is not None and more == _COUNTED:
        notes.append(f"more than {most + more} places print this: those not shown were not counted")
    audited = matches if kind != "number" or len(matches) + more <= _FEW else ()
    uris = {uri for match in matches for uri, _ in match.tree.places()}
    return Answer(
        text,
        kind,
        matches,
        more,
        tuple(findings_on(warehouse, root, _lines(audited), facts)),
        tuple(context.versions(uris)),
        tuple(notes),
    )


def _nothing(text: str) -> BenchError:
    from .answer_columns import NAMES
    from .decisions import commands_with

    metric = _METRIC.fullmatch(text)
    if metric and metric[2] in NAMES - {*names()}:
        return BenchError(
            f"no answer here has {metric[2]} of {metric[1]}",
            why=f"it is a number of {' and '.join(commands_with(metric[2]))} only",
            hint="add that command's options: --by COLUMN, --where, --nodes, ...",
        )
    return BenchError(
        f"no source or result contains {text}",
        why="no cell, no line that states something and no computed value prints so",
        hint="bench explain takes RUN[.METRIC], FILE:LINE[:COLUMN], A / B, a number, a"
        " formula (F7), a rule (R9) or prediction; numbers of an answer need its --where, --by and"
        " the like",
    )


def _dispatch(context: ExplainContext, query: Query, text: str, every: bool) -> SearchResult:
    formula = formula_named(text)
    if formula is not None:
        return SearchResult("formula", of_formula(context, formula))
    if rule := rule_named(text):
        return SearchResult("rule", iter([rule]))
    # Twelve digits may be a run id; fewer are a number.
    if (number := parse_number(text)) and not _is_run(context, text):
        return _of_number(context, query, number, every)
    if sides := _SIDES.fullmatch(text):
        from .decisions import of_sides

        return SearchResult("sides", of_sides(context, query, (sides[2].strip(), sides[1].strip())))
    metric = _METRIC.fullmatch(text)
    if metric and (metric[2] in names() or _of_answers(metric[2])):
        return SearchResult("run", _of_run(context, query, metric[1], metric[2]))
    if match := _PLACE.fullmatch(text):
        if wrong := _METRIC.fullmatch(match[3] or ""):
            raise _no_metric(wrong[2])
        return SearchResult("place", _once(_at(context, match)))
    if (problem := no_formula(text)) and not _is_run(context, text):
        raise problem
    if metric and (_is_run(context, metric[1]) or _PLACE.fullmatch(metric[1])):
        raise _no_metric(metric[2])
    return SearchResult("run", _of_run(context, query, text, None))


def _of_number(
    context: ExplainContext, query: Query, number: PrintedNumber, every: bool
) -> SearchResult:
    """Search for the printed number from cheap to expensive: sources and pages, each answer, then
    printed rates restated by every formula.

    Stops at the first with a match, unless --all is given: further matches are mostly
    coincidences, and take most of the time.
    """
    from .answer_columns import COMMANDS
    from .decisions import on_answer

    searches: dict[str, Callable[[], Iterable[Match]]] = {
        "sources and pages": partial(search.known, context, number)
    }
    for command in COMMANDS:
        searches[command] = partial(on_answer, context, query, number, command)
    searches["restated rates"] = partial(restated, context, number)
    if every or _names_an_answer(query):
        every_match = chain.from_iterable(found() for found in searches.values())
        return SearchResult("number", _without_repeats(every_match))
    left = list(searches)
    for name, found in searches.items():
        left.remove(name)
        matches = iter(found())
        if first := next(matches, None):
            matches = _without_repeats(chain((first,), matches))
            return SearchResult("number", matches, tuple(left))
    return SearchResult("number", iter(()))


def _names_an_answer(query: Query) -> bool:
    """Whether an option is set that pages lack: then the number is from best, days, ..."""
    chosen = (query.table, query.where, query.since, query.document, query.by, query.base)
    return query.of_days() or any(one is not None for one in chosen)


def _of_answers(name: str) -> bool:
    """Whether a name is a column of answers, which are slow to import and rarely needed."""
    from .answer_columns import NAMES

    return name in NAMES


def _no_metric(name: str) -> BenchError:
    from .answer_columns import NAMES

    known = [*names(), *sorted(NAMES - {*names()})]
    return BenchError(f"no metric {name!r}", hint=did_you_mean(name, known))


def _is_run(context: ExplainContext, text: str) -> bool:
    if not _RUN.fullmatch(text):
        return False
    query = "SELECT 1 FROM runs WHERE starts_with(run_id, ?) LIMIT 1"
    return bool(context.warehouse.rows(query, [text.lower()])) and (
        len(text) == 12 or not text.isdigit()
    )


def _of_run(
    context: ExplainContext, query: Query, text: str, metric: str | None
) -> Iterator[Match]:
    """The derivations of a run's values, then of its numbers in answers."""
    found = run_context(context.warehouse, context.lines, find_run(context.warehouse, text))
    return _without_repeats(_derived(context, query, found, metric))


def _derived(
    context: ExplainContext, query: Query, run: RunContext, metric: str | None
) -> Iterator[Match]:
    where = context.where(run.uri, run.row["line"])
    if metric is None or metric in names():
        budget = context.budget_of(run.row)
        trees = [derive(run, budget, metric)] if metric else heads(run, budget)
        for node in trees:
            yield Match(f"{where}.{node.name}", "of this run", node)
    if metric is not None and _of_answers(metric):
        from ..decide.jobs import MEASURED
        from .decisions import of_run

        if metric not in MEASURED:
            yield from of_run(context, query, run.run_id, metric)


def _without_repeats(matches: Iterable[Match]) -> Iterator[Match]:
    """Drop matches in answers that repeat a value of the run."""
    seen: set[tuple[str, object]] = set()
    for match in matches:
        key = (match.tree.name, match.tree.value)
        if not (match.title.startswith("of bench ") and key in seen):
            yield match
        seen.add(key)


def _at(context: ExplainContext, match: re.Match[str]) -> Iterator[Match]:
    uri = source_named(context.warehouse, match[1])
    column = int(match[3]) if match[3] and match[3].isdigit() else match[3]
    return place.matches(context, uri, int(match[2]), column)


def _once(found: Iterable[Match]) -> Iterator[Match]:
    """Drop matches that are shown alike: a cell that the runs of a wide table share."""
    return iter({repr(one): one for one in found}.values())


def _lines(matches: Iterable[Match]) -> set[tuple[str, int]]:
    return {one for match in matches for one in match.tree.places()}


def findings_on(
    warehouse: Warehouse,
    root: Path,
    lines: Collection[tuple[str, int]],
    facts: Sequence[Annotation] = (),
) -> list[Finding]:
    """Audit findings on the lines of an answer: as stored, else audited now."""
    if not lines:
        return []
    known = [uri for (uri,) in warehouse.rows("SELECT uri FROM sources ORDER BY uri")]
    uris = sorted({uri for uri, _ in lines})
    found, others = stored_findings(warehouse, known if len(known) <= _ALL else uris, facts)
    if set(others) & set(uris):  # nothing is stored for logs, nor in memory
        from ..audit.run import audit

        found = audit(warehouse, None if len(known) <= _ALL else uris)
    wanted = [finding for finding in placed(warehouse, found, root) if finding.rows() & set(lines)]
    return closed(warehouse, wanted, facts)
