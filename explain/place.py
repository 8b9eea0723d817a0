"""FILE:LINE[:COLUMN]: the values read there, and those derived from them."""

from __future__ import annotations

from collections.abc import Iterator

from ..schema.errors import BenchError
from ..vocabulary.format import counted
from .columns import STATED, derive, heads, names
from .context import ExplainContext
from .search import cell_node, cell_place
from .tree import Match, Node, SourceSpan

_CELLS = """SELECT t.uri, t.number, c.*, coalesce(t.headings[c.column_number], '') AS heading
    FROM cells c JOIN tables t USING (table_id)
    WHERE t.uri = ? AND c.line = ? ORDER BY c.column_number"""
_STATED = """
    SELECT f.field AS what, f.value, f.raw, count(DISTINCT f.run_id) AS runs, f.scope AS how
    FROM facts f JOIN runs r USING (run_id)
    WHERE coalesce(f.file, r.uri) = $uri AND f.line = $line GROUP BY ALL
    UNION ALL SELECT coalesce(subject, kind), coalesce(value::VARCHAR, ''), raw, 0, kind
    FROM statements WHERE uri = $uri AND line = $line
    UNION ALL SELECT m.metric, m.value::VARCHAR, m.raw, 1, 'measured'
    FROM measurements m JOIN runs r USING (run_id)
    WHERE r.uri = $uri AND m.line = $line AND r.origin = 'log'
    UNION ALL SELECT e.name, e.value, e.name || '=' || coalesce(e.value, ''), 1, e.kind
    FROM env_flags e JOIN runs r USING (run_id)
    WHERE e.file IS NULL AND r.uri = $uri AND e.line = $line AND r.origin = 'log'
    UNION ALL SELECT e.kind, '', e.raw, 1, 'event'
    FROM events e JOIN runs r USING (run_id) WHERE r.uri = $uri AND e.line = $line
    UNION ALL SELECT t.name, t.max_ms::VARCHAR, t.name, 1, 'timer, ms'
    FROM timers t JOIN runs r USING (run_id) WHERE r.uri = $uri AND t.line = $line
    UNION ALL SELECT m.kind, m.value::VARCHAR, m.unit, 1, 'memory, ' || m.unit
    FROM memory m JOIN runs r USING (run_id) WHERE r.uri = $uri AND m.line = $line
    UNION ALL SELECT e.metric, e.value::VARCHAR, e.name, 1, 'evaluation'
    FROM evaluations e JOIN runs r USING (run_id) WHERE r.uri = $uri AND e.line = $line
    ORDER BY what, value LIMIT 60"""
_STEP = ("step_time_s", "samples_per_s", "tokens_per_s", "tokens_per_s_per_device", "tflops",
         "consumed_samples", "consumed_tokens", "gbs", "loss", "lr", "grad_norm")  # fmt: skip


def matches(
    context: ExplainContext, uri: str, line: int, column: int | str | None
) -> Iterator[Match]:
    """The matches at a line: a row's values, an interval of a log, stated facts."""
    # Findings on a whole line have column 1, so `FILE:LINE:1` includes them.
    if column == context.lines.begins(uri, line) and not any(_cells(context, uri, line, column)):
        column = None
    found = False
    for match in (*_cells(context, uri, line, column), *_intervals(context, uri, line)):
        found = True
        yield match
    if column is None:
        for run in context.runs("uri = ? AND line = ? AND origin <> 'log'", uri, line):
            for node in heads(run, context.budget_of(run.row)):
                found = True
                yield Match(f"{context.where(uri, line)}.{node.name}", "of this run", node)
    for match in _headings(context, uri, line):
        found = True
        yield match
    for node in () if column is not None else _stated(context, uri, line):
        found = True
        yield Match(context.where(uri, line), "stated here", node)
    if not found:
        yield _plain(context, uri, line, column)


def _cells(
    context: ExplainContext, uri: str, line: int, column: int | str | None
) -> Iterator[Match]:
    cells = context.warehouse.dicts(_CELLS, [uri, line])
    for cell in cells:
        place = cell_place(context, cell)
        names = {cell["heading"].casefold(), (cell["name"] or "").casefold()}
        requested = column is None or (
            column.casefold() in names
            if isinstance(column, str)
            else place.column is not None
            and place.column <= column <= place.column + max(len(cell["raw"]) - 1, 0)
        )
        if requested:
            where = context.where(uri, line, place.column)
            yield Match(where, "a cell", cell_node(place, cell))
            if column is not None:
                yield from _made_of(context, uri, line, place)


def _made_of(context: ExplainContext, uri: str, line: int, place: SourceSpan) -> Iterator[Match]:
    """The values computed from one cell of a row."""
    for run in context.runs("uri = ? AND line = ?", uri, line):
        for name in (name for name in names() if name not in STATED):
            tree = derive(run, context.budget_of(run.row), name)
            if tree.how and any(node.place == place for node in tree.walk()):
                yield Match(f"{context.where(uri, line)}.{name}", "made of it", tree)


def _intervals(context: ExplainContext, uri: str, line: int) -> Iterator[Match]:
    query = """SELECT i.*, r.line AS first FROM iterations i JOIN runs r USING (run_id)
               WHERE r.uri = ? AND i.line = ? ORDER BY i.iteration"""
    text = context.lines.text(uri, line)
    for row in context.warehouse.dicts(query, [uri, line]):
        inputs = tuple(
            Node(name, row[name], place=SourceSpan(uri, line, None, text))
            for name in _STEP
            if row[name] is not None
        )
        whole = f"{context.where(uri, row['first'])}.step_time_s"
        note = f"of the run at line {row['first']}; {whole} says whether it counts"
        span = SourceSpan(uri, line, None, text)
        node = Node("iteration", row["iteration"], place=span, note=note, inputs=inputs)
        yield Match(context.where(uri, line), "a logged interval", node)


def _headings(context: ExplainContext, uri: str, line: int) -> Iterator[Match]:
    """The headings of a table and their meaning."""
    query = "SELECT number, headings, columns FROM tables WHERE uri = ? AND header_line = ?"
    for number, headings, columns in context.warehouse.rows(query, [uri, line]):
        inputs = tuple(
            Node(heading or "(blank)", name or "not known", note="stands for" if name else "")
            for heading, name in zip(headings, columns, strict=True)
        )
        node = Node("table", number, place=SourceSpan(uri, line), inputs=inputs)
        yield Match(context.where(uri, line), "the headings of a table", node)


def _stated(context: ExplainContext, uri: str, line: int) -> Iterator[Node]:
    text = context.lines.text(uri, line)
    for row in context.warehouse.dicts(_STATED, {"uri": uri, "line": line}):
        used = f"{row['how']}; for {counted(row['runs'], 'run')}"
        note = used if row["runs"] else row["how"]
        place = SourceSpan(uri, line, None, text or row["raw"])
        yield Node(row["what"], row["value"], place=place, note=note)


def _plain(context: ExplainContext, uri: str, line: int, column: int | str | None) -> Match:
    [(lines,)] = context.warehouse.rows("SELECT lines FROM sources WHERE uri = ?", [uri])
    if not 1 <= line <= lines:
        raise BenchError(
            f"{uri} has no line {line}", why=f"it has {counted(lines, 'line')}", where=uri
        )
    if column is not None and context.warehouse.rows(_CELLS, [uri, line]):
        raise BenchError(
            f"no cell at {context.where(uri, line)}:{column}",
            hint="COLUMN is a character of the line, from 1, or a heading",
        )
    place = SourceSpan(uri, line, None, context.lines.text(uri, line))
    state = context.lines.state(uri)
    note = state or "no number is read from this line"
    return Match(context.where(uri, line), "a line", Node("line", line, place=place, note=note))
