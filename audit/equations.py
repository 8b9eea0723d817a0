"""Arithmetic rules: the equations declared in rules/, and the engine that tests them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, repeat
from operator import itemgetter
from typing import Any

from .expression import Doubted, Expression, Test, Unknown, compiled, expression
from .finding import Finding, Place
from .fixes import suggest_fixes, suggestion
from .input import AuditInput, Document, Row, Table
from .names import Let, Names, PairNames
from .quantities import MEASURED
from .rule import Check, Rule
from .same_configuration import groups
from .topology import product_changes


@dataclass(frozen=True, slots=True)
class Equation:
    """One equation of a rule: the rows it applies to, what must hold, and the finding if not.

    Tests rows where `rows` is true and every name in `holds` is known. `templates` are tried in
    order; the first whose condition is true, given a row and the counts `tested` and `off` of its
    table or document (`scope`), words the finding; if none is, there is no finding. `once` merges
    all rows of a document into one finding, if there are at least `least`. `solve` suggests a new
    value for one cell: true, by all equations of the table; factors, so that their product is the
    number of processes.
    """

    rows: Expression
    holds: Expression
    cells: tuple[str, ...]
    templates: tuple[tuple[Expression, str], ...]
    scope: str = "table"
    why: str = ""
    solve: bool | Sequence[str] = False
    otherwise: str = ""  # the suggestion if no single cell solves it
    once: bool = False
    least: int = 1


@dataclass(frozen=True, slots=True)
class Pair:
    """A relation between two rows that agree in every setting except `free`.

    `rows` filters single rows; `when` and `holds` name quantities as `first.world`. Both rows come
    from one table, or one document (`scope`). Compares neighbours in the order of `by`; without
    it, each row with the one of the `lowest` value among those above it in `rising` and of the
    same `alike`: if any of these violates the relation, it does. `cells` names the doubted cells
    of first and second row. All pairs of a document make one finding; unless `once`, one
    finding for each first row.
    """

    rows: Expression
    when: Expression
    holds: Expression
    free: tuple[str, ...]
    cells: Mapping[str, Sequence[str]]
    template: str
    by: str = ""
    rising: str = ""
    alike: str = ""
    lowest: Expression | None = None  # None for rows that are no second one
    scope: str = "table"
    once: bool = True


@dataclass(frozen=True, slots=True)
class Query:
    """An SQL query for findings: uri, line, name (our column, or NULL) and values for templates.

    Rows of a document that agree in the columns `by` make one finding and are its `items`.
    """

    sql: str
    template: str
    by: tuple[str, ...] = ()


def checks_of(rule: Rule, read: Mapping[str, Any]) -> Iterator[Check]:
    """Checks for the equations and pairs of a rule's file, in file order, then for its queries."""
    conditions = {
        name: expression(one.get("if", "True")) for name, one in read["templates"].items()
    }
    let = {name: expression(text) for name, text in read.get("let", {}).items()}
    equations = [_equation(dict(one), conditions) for one in read.get("equation", ())]
    tested = [(one, compiled(one.rows, one.holds, let)) for one in equations]
    pairs = [_pair(dict(one)) for one in read.get("pair", ())]
    compared = [(one, compiled(one.rows, expression("True"), {})) for one in pairs]
    queries = [
        Query(one["sql"], one["template"], tuple(one.get("by", ())))
        for one in read.get("query", ())
    ]

    def check(data: AuditInput) -> Iterator[Finding]:
        doubted = data.doubted()
        for document in data.documents:
            for equation, test in tested:
                yield from _test(rule, equation, test, document, let, doubted)
            for pair, test in compared:
                yield from _compare(rule, pair, test, document, let, doubted)
        for query in queries:
            yield from _run_query(rule, query, data)

    if equations or pairs or queries:
        yield check


def _equation(entry: dict[str, Any], conditions: Mapping[str, Expression]) -> Equation:
    return Equation(
        rows=expression(entry.pop("if", "True")),
        holds=expression(entry.pop("holds", "False")),
        cells=tuple(entry.pop("cells", ())),
        templates=tuple((conditions[name], name) for name in entry.pop("templates", conditions)),
        **entry,
    )


def _pair(entry: dict[str, Any]) -> Pair:
    return Pair(
        rows=expression(entry.pop("if", "True")),
        when=expression(entry.pop("when", "True")),
        holds=expression(entry.pop("holds")),
        free=tuple(entry.pop("free")),
        lowest=expression(entry.pop("lowest")) if "lowest" in entry else None,
        **entry,
    )


def _run_query(rule: Rule, query: Query, data: AuditInput) -> Iterator[Finding]:
    wanted = {document.uri for document in data.documents}
    found: dict[tuple[object, ...], list[dict[str, Any]]] = {}
    for row in data.warehouse.dicts(query.sql):
        # Only the history may have a document; findings in each of its copies count.
        if rule.request or row["uri"] in wanted:
            found.setdefault((row["uri"], *(row[name] for name in query.by)), []).append(row)
    for rows in found.values():
        cells = [
            Place(row["uri"], row["line"], row.get("name") or "", text=row.get("place") or "")
            for row in rows
        ]
        yield rule.finding(query.template, cells, **rows[0], number=len(rows), items=rows)


def _test(
    rule: Rule, equation: Equation, test: Test, document: Document, let: Let, doubted: Doubted
) -> Iterator[Finding]:
    measured = any(row.measured for row in document.rows)
    tables = [table for table in document.tables if _can_be_tested(equation, table, let)]
    scopes = [tables] if equation.scope == "document" else [[table] for table in tables]
    found = [off for scope in scopes for off in _off(equation, test, scope, let, doubted, measured)]
    if not equation.once:
        for template, names in found:
            yield _single(rule, equation, template, names)
    elif len(found) >= equation.least:
        yield _together(rule, equation, found)


def _off(
    equation: Equation,
    test: Test,
    tables: Sequence[Table],
    let: Let,
    doubted: Doubted,
    measured: bool,
) -> Iterator[tuple[str, Names]]:
    """The rows of tables that violate an equation, each with its template."""
    off, tested = [], 0
    for table, row in [(one, row) for one in tables for row in one.rows]:
        try:
            holds = test(table, row, doubted, measured)
        except Unknown:
            continue
        if holds is None:
            continue
        tested += 1
        if not holds:
            off.append((table, row))
    for table, row in off:
        names = Names(
            table, row, let, doubted=(row.uri, row.line) in doubted, document_measured=measured
        )
        names.update(tested=tested, off=len(off))
        template = next(
            (name for condition, name in equation.templates if condition.value(names)), None
        )
        if template:
            yield template, names


def _can_be_tested(equation: Equation, table: Table, let: Let) -> bool:
    """Whether some row has each input of an equation: most tables lack one for most equations."""
    needed = (equation.rows.conjuncts | equation.holds.names) - let.keys()
    return equation.rows.columns <= {*table.columns} and all(
        any(name in row.printed for row in table.rows)
        if name in MEASURED
        else any(getattr(row, name) is not None for row in table.rows)
        for name in needed
        if name in MEASURED or name in Row.__dataclass_fields__
    )


def _single(rule: Rule, equation: Equation, template: str, names: Names) -> Finding:
    cells, fix = _cells(equation.cells, names), ""
    if equation.solve is True:
        fixes = suggest_fixes(names.table, names.row)
        fix = suggestion(fixes)
        cells = tuple(dict.fromkeys((*cells, *(names.row.at(change.name) for change in fixes))))
    elif equation.solve:
        fix = ", or ".join(map(str, product_changes(names.row, equation.solve)))
    known = {
        "why": equation.why.format_map(names),
        "fix": fix or equation.otherwise.format_map(names),
    }
    return rule.finding(template, cells, known=ChainMap(known, names))


def _together(rule: Rule, equation: Equation, found: Sequence[tuple[str, Names]]) -> Finding:
    template, first = found[0]
    return rule.finding(
        template,
        [cell for _, names in found for cell in _cells(equation.cells, names)],
        items=[names for _, names in found],
        known=ChainMap({"number": len(found)}, first),
    )


def _compare(
    rule: Rule, pair: Pair, test: Test, document: Document, let: Let, doubted: Doubted
) -> Iterator[Finding]:
    found: list[PairNames] = []
    scopes = [[table] for table in document.tables]
    for tables in [document.tables] if pair.scope == "document" else scopes:
        known = {
            row.run_id: Names(table, row, let, doubted=(row.uri, row.line) in doubted)
            for table in tables
            for row in table.rows
            if test(table, row, doubted, False)
        }
        eligible = [one.row for one in known.values()]
        for group in groups(eligible, *pair.free):
            for first, second in _ordered(pair, [known[row.run_id] for row in group]):
                both = PairNames(first, second)
                if pair.when.value(both) and not pair.holds.value(both):
                    found.append(both)
    if pair.once and found:
        cells = [cell for both in found for cell in _of_pair(pair, both)]
        yield rule.finding(pair.template, dict.fromkeys(cells), items=found)
    elif found:
        for both in found:
            yield rule.finding(pair.template, _of_pair(pair, both), known=both)


def _of_pair(pair: Pair, both: PairNames) -> Iterator[Place]:
    for side, cells in pair.cells.items():
        yield from _cells(cells, both[side].names)


def _ordered(pair: Pair, group: Sequence[Names]) -> Iterator[tuple[Names, Names]]:
    if pair.by:
        yield from pairwise(sorted(group, key=lambda names: getattr(names.row, pair.by)))
        return
    alike: dict[Any, list[Names]] = {}
    for names in group:
        alike.setdefault(names[pair.alike] if pair.alike else None, []).append(names)
    above = {id(one): other for some in alike.values() for one, other in _lowest_above(pair, some)}
    yield from ((names, above[id(names)]) for names in group if id(names) in above)


def _lowest_above(pair: Pair, group: Sequence[Names]) -> Iterator[tuple[Names, Names]]:
    """Of each row the one to compare it with; thousands of rows have millions of pairs."""
    assert pair.lowest is not None
    ranked = [(value, names) for names in group if (value := names[pair.rising]) is not None]
    ranked.sort(key=itemgetter(0), reverse=True)
    best: tuple[float, Names] | None = None
    for _, equal in groupby(ranked, itemgetter(0)):
        here = [names for _, names in equal]
        if best is not None:
            yield from zip(here, repeat(best[1]))
        for names in here:
            value = pair.lowest.value(names)
            if value is not None and (best is None or value < best[0]):
                best = (value, names)


def _cells(wanted: Sequence[str], names: Names) -> tuple[Place, ...]:
    """The cells of an equation that the table has; a single one is doubted too."""
    columns = names.table.columns
    found = []
    for cell in wanted:
        *others, last = cell.split("|")
        name = next((other for other in others if other in columns), last)
        if name in columns or len(wanted) == 1:
            found.append(names.row.at(name))
    return tuple(found) or (names.row.at(),)
