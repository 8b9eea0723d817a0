"""What `--where` may name: the columns of a run listing, and environment flags."""

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


def condition(warehouse: Warehouse, text: str) -> str:
    """The condition as SQL over the temporary table `selected`, which must be there."""
    known = columns(warehouse)
    kinds = {name: kind for name, kind in known.items() if name not in ("run", "where")}
    taken = {name.casefold() for name in known}
    flags = [name for (name,) in warehouse.rows(_FLAGS) if name.casefold() not in taken]
    values = {name: _VALUE.replace("{name}", name.replace("'", "''")) for name in flags}
    return compile_where(text, kinds | dict.fromkeys(flags, "VARCHAR"), values)
