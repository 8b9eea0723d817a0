"""Make a claim from a warehouse and a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..audit.rule import rules_version
from ..decide.query import Query
from ..project.facts import facts_of, path_facts
from ..schema.annotation import BOUNDARY, FINDING, SET, Annotation, Match
from ..schema.warehouse import Warehouse
from ..vocabulary.release import VERSION
from .answer import Source, answered, fixed, sources_of
from .question import Question
from .statement import Digest, Predicate, Size, Stated, Statement, Subject, Tool

_RUNS = """SELECT s.sha256, r.line FROM runs r JOIN sources s USING (source_id)
    WHERE starts_with(r.run_id, ?)"""


def claim(warehouse: Warehouse, root: Path, question: Question, query: Query) -> Statement:
    """The claim that answers the question from a warehouse; sources lie below `root`.

    `query` has the budgets of the settings. Raises BenchError where there is no answer.
    """
    question = fixed(warehouse, question, query)
    found = answered(warehouse, root, question)
    known = sources_of(warehouse)
    first = {one.sha256: (uri, one) for uri, one in sorted(known.items(), reverse=True)}
    subjects = (
        Subject(name=uri, digest=Digest(sha256=one.sha256), annotations=Size(lines=one.lines))
        for uri, one in sorted(first.values(), key=lambda item: item[0])
    )
    return Statement(
        subject=tuple(subjects),
        predicate=Predicate(
            question=question, result=found.result, rows=found.rows, derivation=found.derivation,
            formulas=dict(found.formulas), stated=tuple(_stated(warehouse, root, known)),
            tool=tool(warehouse),
        ),
    )  # fmt: skip


def tool(warehouse: Warehouse) -> Tool:
    """The versions of bench and of the parsers that filled the warehouse."""
    [(reading,)] = warehouse.rows("SELECT coalesce(max(parser_version), 0) FROM sources")
    return Tool(version=VERSION, reading=reading, rules=rules_version())


def annotations_of(statement: Statement) -> tuple[Annotation, ...]:
    """The claim's annotations, as `given` for recomputing the answer."""
    return tuple(
        Annotation(
            Match(sha256=one.source, lines=one.lines, table=one.table, model=one.model), one.field,
            one.value, one.reason, one.author, one.date, "claim", number, one.origin,
        )
        for number, one in enumerate(statement.predicate.stated, 1)
    )  # fmt: skip


def _stated(warehouse: Warehouse, root: Path, known: dict[str, Source]) -> Iterator[Stated]:
    """Annotations by digest of their source: file names differ between machines.

    Closed findings are not included: the verifier audits again.
    """
    given = (*facts_of(warehouse, root), *path_facts(warehouse, root), *_overrides(warehouse))
    seen: set[Stated] = set()
    for one in given:
        for uri, source in known.items() if not (one.field == FINDING or one.withdrawn) else ():
            if not (one.match.names(uri) and source.sha256.startswith(one.match.sha256 or "")):
                continue
            lines = _lines(warehouse, one, source.sha256)
            if lines is None:
                continue
            stated = Stated(
                source=source.sha256, lines=lines, table=one.match.table, model=one.match.model,
                field=one.field, value=one.value, reason=one.reason, author=one.author,
                date=one.date, origin=one.origin,  # type: ignore[arg-type]  # of sidecars none is given
            )  # fmt: skip
            if stated not in seen:
                seen.add(stated)
                yield stated


def _lines(warehouse: Warehouse, annotation: Annotation, sha256: str) -> tuple[int, ...] | None:
    """The lines of an annotation; for a run, whose id depends on paths, the line of the run."""
    if not annotation.match.run or annotation.field == BOUNDARY:
        return annotation.match.lines
    rows = warehouse.rows(_RUNS, [annotation.match.run])
    lines: Sequence[int] = [line for digest, line in rows if digest == sha256]
    return tuple(lines) or None


def _overrides(warehouse: Warehouse) -> Iterator[Annotation]:
    """The values of `--set` by the file that each applies to."""
    query = """SELECT r.uri, a.field, a.value, a.stated_on FROM annotations a
               JOIN runs r USING (run_id) WHERE a.origin = 'set' GROUP BY ALL ORDER BY ALL"""
    for uri, field, value, day in warehouse.rows(query):
        yield Annotation(
            Match(uri=uri), field, value, "given with --set", "", day, "--set", origin=SET
        )
