"""The runs of a page: by model, document and filter, in one temporary table.

`--where` may name columns of a run listing, environment flags and headings of tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..schema.errors import BenchError
from ..schema.materialized import materialize_pages
from ..schema.warehouse import Warehouse
from ..vocabulary.sizes import parse_size
from .lookup import benchmark_tables, source_named
from .query import Query

_ANY_OTHER = """
    SELECT 1 FROM cells c JOIN tables t USING (table_id)
    WHERE (c.name IS NULL OR c.kind = 'words')
      AND (trim(t.headings[c.column_number]) <> '' OR c.column_number = 1)
      AND c.table_id IN (SELECT table_id FROM {runs}) LIMIT 1"""
_MORE_SETTINGS = """CREATE OR REPLACE TEMP TABLE more_settings AS
    SELECT unnest(?::VARCHAR[]) AS run_id, unnest(?::VARCHAR[]) AS more"""
_WITH_MORE = "nullif(concat_ws(', ', settings, more), '')"
# The columns of a listing, which `--where` may name.
LISTED = """SELECT * EXCLUDE (table_id, source_id, segment, product, usable), run_id AS run,
               uri || ':' || line AS "where"
           FROM selected"""
_FLAGS = """SELECT DISTINCT name FROM env_flags
            WHERE run_id IN (SELECT run_id FROM {runs}) ORDER BY name"""
# A switch of a launcher has no value: it is set or not.
_VALUE = """(
    SELECT max(CASE WHEN f.value IS NULL THEN 'none'
                    WHEN f.kind = 'launcher' AND f.value = '' THEN 'set' ELSE f.value END)
    FROM env_flags f WHERE f.run_id = selected.run_id AND f.name = '{name}'
)"""
# Cells under headings that mean nothing to us, without what dresses them.
_PLAIN = r"regexp_replace(trim({}), '[*`†‡]|\[\^[\w-]{{1,20}}\]', '', 'g')"
_HEADING, _TEXT = _PLAIN.format("t.headings[c.column_number]"), _PLAIN.format("c.raw")
_HEADINGS = f"""SELECT trim({_HEADING}) AS heading,
                bool_and(try_cast(replace(nullif(trim(c.raw), ''), ',', '') AS DOUBLE) IS NOT NULL
                         OR trim(c.raw) = '') AS numbers
            FROM cells c JOIN tables t USING (table_id)
            WHERE c.name IS NULL AND heading <> ''
              AND c.table_id IN (SELECT table_id FROM {{runs}}) GROUP BY heading ORDER BY heading"""
_NUMBER = "try_cast(replace(c.raw, ',', '') AS DOUBLE)"
_CELL = f"""(
    SELECT max({{cell}})
    FROM cells c JOIN tables t USING (table_id)
    WHERE c.table_id = selected.table_id AND c.row_number = selected.row_number
      AND c.name IS NULL AND trim({_HEADING}) = '{{name}}'
)"""
_CLOSE = 0.03  # a computed size within 3 % of a label may bear it


@dataclass(frozen=True, slots=True)
class Selected:
    """The name of the page and the number of its runs."""

    name: str
    runs: int


def select(warehouse: Warehouse, query: Query) -> Selected:
    """Fill the temporary table `selected` with the runs of a query.

    Raises BenchError for a model or document that is not there, naming the known ones.
    """
    materialize_pages(warehouse)
    name, conditions = _conditions(warehouse, query)
    _fill(warehouse, "FROM results", conditions)
    if _find_other_settings(warehouse, "selected"):
        warehouse.rows(f"""UPDATE selected SET settings = {_WITH_MORE}
                           FROM more_settings m WHERE m.run_id = selected.run_id""")
    if query.where is not None:
        # NULL does not match: a run that does not state the column is not selected.
        found = condition(warehouse, query.where)
        warehouse.rows(f"DELETE FROM selected WHERE ({found}) IS NOT TRUE")
    [(runs,)] = warehouse.rows("SELECT count(*) FROM selected")
    # A page of one size is named after it, even if all sizes were requested. Measured rows
    # of a model without a name may be of another.
    if query.model is None or parse_size(query.model) is None:
        sizes = warehouse.rows(
            """SELECT DISTINCT size FROM selected
               WHERE size IS NOT NULL OR (origin = 'row' AND kind = 'measured' AND status = 'ok')
               ORDER BY size LIMIT 2"""
        )
        name = sizes[0][0] if len(sizes) == 1 and sizes[0][0] else name
    return Selected(name, runs)


def select_of_every(warehouse: Warehouse, query: Query) -> None:
    """Fill `selected` with the runs of a query, from the view `every` of all runs.

    `where` may name whatever a run of the whole warehouse has; raises BenchError as `select`.
    """
    show_every(warehouse)
    found = _conditions(warehouse, query)[1]
    if query.where is not None:
        found.append((f"({condition(warehouse, query.where, 'every')})", []))
    if query.table:
        _, tables = benchmark_tables(warehouse, query.table.file, query.table.number)
        found.append(("list_contains(?::VARCHAR[], table_id)", [[t["table_id"] for t in tables]]))
    _fill(warehouse, "SELECT * FROM every AS selected", found)


def show_every(warehouse: Warehouse) -> None:
    """Make the temporary view `every`: all runs, with the columns of `selected`."""
    materialize_pages(warehouse)
    warehouse.rows("CREATE OR REPLACE TEMP VIEW every AS FROM results")
    if _find_other_settings(warehouse, "every"):
        warehouse.rows(f"""CREATE OR REPLACE TEMP VIEW every AS
            SELECT * EXCLUDE (more) REPLACE ({_WITH_MORE} AS settings)
            FROM results LEFT JOIN more_settings USING (run_id)""")


def _fill(
    warehouse: Warehouse, runs: str, conditions: Sequence[tuple[str, Sequence[object]]]
) -> None:
    where = " AND ".join(sql for sql, _ in conditions) or "true"
    values = [value for _, values in conditions for value in values]
    warehouse.rows(f"CREATE OR REPLACE TEMP TABLE selected AS {runs} WHERE {where}", values)


def _conditions(
    warehouse: Warehouse, query: Query
) -> tuple[str, list[tuple[str, Sequence[object]]]]:
    """The name of the selection; conditions in SQL, each with the values of its parameters."""
    name, found = "all models", list[tuple[str, Sequence[object]]]()
    if query.model is not None:
        name, of_model, values = _model(warehouse, query.model)
        found.append((of_model, values))
    if query.document is not None:
        found.append(("uri = ?", [source_named(warehouse, query.document)]))
    if query.since is not None:
        since = "source_id IN (SELECT source_id FROM loads WHERE loaded_at >= ?)"
        found.append((since, [query.since]))
    return name, found


def _find_other_settings(warehouse: Warehouse, runs: str) -> bool:
    """Fill the temporary table `more_settings` with settings in unknown columns of tables, which
    follow the environment flags. Returns whether there are any."""
    if not warehouse.rows(_ANY_OTHER.format(runs=runs)):
        return False
    from .other_columns import ROW, other_columns  # what headings mean takes longer to load

    others = other_columns(warehouse, runs)
    printed = [
        ", ".join(
            _whole(value) if name == ROW else f"{name}={_whole(value)}"
            for name, value in one.items()
        )
        for one in others.values()
    ]
    warehouse.rows(_MORE_SETTINGS, [[*others], printed])
    return bool(others)


def _whole(value: str) -> str:
    """A value without the blank behind a comma, which parts settings."""
    return value.replace(", ", ",")


def known_models(warehouse: Warehouse) -> list[tuple[str, int]]:
    """Every size or model name of the warehouse and its number of runs, the commonest first."""
    return [
        (str(name), count)
        for name, count in warehouse.rows(
            """SELECT size AS name, count(*) AS runs FROM configurations
               WHERE size IS NOT NULL GROUP BY ALL ORDER BY runs DESC, name"""
        )
    ]


def has_model(warehouse: Warehouse, name: str) -> bool:
    """Whether `--model NAME` selects a run: of this label, or of this size by its shape."""
    _, condition, values = _of_model(warehouse, name)
    query = f"SELECT count(*) FROM (FROM configurations WHERE {condition} LIMIT 1)"
    return values != [""] and bool(warehouse.rows(query, values)[0][0])


def _of_model(warehouse: Warehouse, name: str) -> tuple[str, str, list[object]]:
    """The label of a model; the condition in SQL for its runs, and its values."""
    size = parse_size(name)
    if size is not None and re.fullmatch(r"\s*[\d.]+\s*[BMT]\d*\s*", name, re.I):
        condition = """(abs(params_b - ?) < 1e-9 OR (params_b IS NULL
            AND abs(coalesce(params_stated, params_computed) / 1e9 / ? - 1) <= ?))"""
        values: list[object] = [size, size, _CLOSE]
        [(label,)] = warehouse.rows("SELECT size_label(?)", [size])
    else:
        condition = "contains(regexp_replace(lower(model), '[^a-z0-9]', '', 'g'), ?)"
        values, label = [re.sub(r"[^a-z0-9]", "", name.lower())], name
    return str(label), condition, values


def _model(warehouse: Warehouse, name: str) -> tuple[str, str, list[object]]:
    label, condition, values = _of_model(warehouse, name)
    [(count,)] = warehouse.rows(f"SELECT count(*) FROM configurations WHERE {condition}", values)
    # A number alone is contained in names by chance: 7 in 177B and 7.5B.
    is_number = bool(re.fullmatch(r"\s*[\d.,]+\s*", name))
    if not count or values == [""] or is_number:
        known = [f"{name} ({runs})" for name, runs in known_models(warehouse)]
        raise BenchError(
            f"no runs of model {name!r}",
            why=f"known models (runs): {', '.join(known[:40]) or 'none'}",
            hint="bench ingest PATH..."
            if not known
            else f"did you mean --model {name.strip()}B?"
            if is_number
            else "--model with one of these, or none for all",
        )
    return label, condition, values


def listed_columns(warehouse: Warehouse, runs: str = "selected") -> dict[str, str]:
    """Name and DuckDB type of every column of a listing of the runs of a relation."""
    described = LISTED.replace("FROM selected", f"FROM {runs}")
    return {name: kind for name, kind, *_ in warehouse.rows(f"DESCRIBE {described}")}


def condition(warehouse: Warehouse, text: str, runs: str = "selected") -> str:
    """The condition as SQL over a relation `selected`; its names are the columns of the runs of
    `runs`."""
    from ..schema.where import compile_where  # most commands have no condition

    known = listed_columns(warehouse, runs)
    kinds = {name: kind for name, kind in known.items() if name not in ("run", "where")}
    taken = {name.casefold() for name in known}
    values: dict[str, str] = {}
    for name, kind, value in (*_flags(warehouse, runs), *_headings(warehouse, runs)):
        if name.casefold() not in taken:
            taken.add(name.casefold())
            kinds[name] = kind
            # Names come from documents: a quote in one must not end the text of our SQL.
            values[name] = value.replace("{name}", name.replace("'", "''"))
    return compile_where(text, kinds, values)


def _flags(warehouse: Warehouse, runs: str) -> list[tuple[str, str, str]]:
    return [(name, "VARCHAR", _VALUE) for (name,) in warehouse.rows(_FLAGS.format(runs=runs))]


def _headings(warehouse: Warehouse, runs: str) -> list[tuple[str, str, str]]:
    """Headings that mean nothing to us, with the type and value of their cells."""
    return [
        (name, "DOUBLE", _CELL.replace("{cell}", _NUMBER))
        if numbers
        else (name, "VARCHAR", _CELL.replace("{cell}", _TEXT))
        for name, numbers in warehouse.rows(_HEADINGS.replace("{runs}", runs))
    ]
