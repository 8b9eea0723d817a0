"""What `--where` may name: columns of a run listing, environment flags, headings of tables."""

from __future__ import annotations

from ..schema.warehouse import Warehouse
from ..schema.where import compile_where
from .listing import columns

_FLAGS = """SELECT DISTINCT name FROM env_flags
            WHERE run_id IN (SELECT run_id FROM selected) ORDER BY name"""
# A launcher's switch states no value: that it is set is all there is to tell.
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
              AND c.table_id IN (SELECT table_id FROM selected) GROUP BY heading ORDER BY heading"""
_NUMBER = "try_cast(replace(c.raw, ',', '') AS DOUBLE)"
_CELL = f"""(
    SELECT max({{cell}})
    FROM cells c JOIN tables t USING (table_id)
    WHERE c.table_id = selected.table_id AND c.row_number = selected.row_number
      AND c.name IS NULL AND trim({_HEADING}) = '{{name}}'
)"""


def condition(warehouse: Warehouse, text: str) -> str:
    """The condition as SQL over the temporary table `selected`, which must be there."""
    known = columns(warehouse)
    kinds = {name: kind for name, kind in known.items() if name not in ("run", "where")}
    taken = {name.casefold() for name in known}
    values: dict[str, str] = {}
    for name, kind, value in (*_flags(warehouse), *_headings(warehouse)):
        if name.casefold() not in taken:
            taken.add(name.casefold())
            kinds[name] = kind
            values[name] = value.replace("{name}", name.replace("'", "''"))
    return compile_where(text, kinds, values)


def _flags(warehouse: Warehouse) -> list[tuple[str, str, str]]:
    return [(name, "VARCHAR", _VALUE) for (name,) in warehouse.rows(_FLAGS)]


def _headings(warehouse: Warehouse) -> list[tuple[str, str, str]]:
    """Headings that mean nothing to us, with the type and value of their cells."""
    return [
        (name, "DOUBLE", _CELL.replace("{cell}", _NUMBER))
        if numbers
        else (name, "VARCHAR", _CELL.replace("{cell}", _TEXT))
        for name, numbers in warehouse.rows(_HEADINGS)
    ]
