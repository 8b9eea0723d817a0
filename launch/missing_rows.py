"""A plan for the rows without a result of a published table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import tomlkit

from ..decide.lookup import source_named
from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from .cases import slug
from .plan import NAME
from .trainer import check_flags

_ROWS = """
SELECT c.run_id, c.uri, c.line, c.size, c.layers, c.hidden, c.heads, c.seq_len, c.nodes, c.tp,
    c.pp, c.cp, c.ep, c.vpp, c.mbs, c.gbs, c.recompute,
    coalesce(c.dp, c.world_size
        // nullif(coalesce(c.tp, 1) * coalesce(c.pp, 1) * coalesce(c.cp, 1), 0)) AS dp
FROM configurations c JOIN tables t ON t.table_id = c.table_id
WHERE c.uri = ? AND (t.number = ? OR ? IS NULL) AND c.status = 'not_run'
ORDER BY c.line"""
# What a document calls a table can be set by nobody.
_FLAGS = """SELECT name, value, kind FROM env_flags
            WHERE run_id = ? AND value IS NOT NULL AND kind <> 'table' ORDER BY name"""
_SHAPE = ("layers", "hidden", "heads")
_SETTINGS = (
    "model",
    *_SHAPE,
    "seq_len",
    "nodes",
    "dp",
    "tp",
    "pp",
    "cp",
    "ep",
    "vpp",
    "mbs",
    "gbs",
    "recompute",
)


def plan_of_missing(warehouse: Warehouse, file: str, number: int | None) -> str:
    """The plan as TOML, a `[[matrix]]` per row. Raises BenchError if every row has a result."""
    uri = source_named(warehouse, file)
    rows = warehouse.dicts(_ROWS, [uri, number, number])
    named = uri if number is None else f"{uri}, table {number}"
    if not rows:
        raise BenchError("no rows without a result", where=named, hint="bench runs FILE --all")
    plan = tomlkit.document()
    plan.add(
        tomlkit.comment(f"Rows without a result in {named}; iterations and limits are defaults.")
    )
    stem = uri.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    plan["name"] = "missing-" + (stem if re.match(NAME, f"missing-{stem}") else slug(stem))
    plan["settings"] = tomlkit.item({"iterations": 10})
    plan["limits"] = tomlkit.item({"idle_s": 1800.0})
    row_flags = [warehouse.rows(_FLAGS, [row["run_id"]]) for row in rows]
    if any(kind in ("scheduler", "clock") for flags in row_flags for _, _, kind in flags):
        plan["launcher"] = "pjm"  # it has the options clock and retention_state
    presets = _presets([str(row["size"]).lower() for row in rows if row["size"]])
    matrix = tomlkit.aot()
    for row, flags in zip(rows, row_flags, strict=True):
        matrix.append(_matrix(row, flags, presets))
    plan["matrix"] = matrix
    return tomlkit.dumps(plan)


def _presets(labels: Sequence[str]) -> set[str]:
    """The labels that are presets of the trainer."""
    known = list(dict.fromkeys(labels))
    answers = check_flags([["--preset", label] for label in known]).sizes
    return {label for label, one in zip(known, answers, strict=True) if "layers" in one}


def _matrix(
    row: Mapping[str, Any], flags: Sequence[tuple[Any, ...]], presets: set[str]
) -> tomlkit.items.Table:
    """One row as a `[[matrix]]`; settings that it does not state are the trainer's defaults."""
    table = tomlkit.table()
    label = str(row["size"] or "").lower()
    known = {**row, "model": label if label in presets else None}
    if known["model"] is not None:
        known |= dict.fromkeys(_SHAPE)  # the preset sets them
    table.add(tomlkit.comment(f"{row['uri']}:{row['line']}"))
    if known["model"] is None and any(known[name] is None for name in _SHAPE):
        table.add(tomlkit.comment(f"no preset {label!r} and incomplete shape: fill in the model"))
    for name in _SETTINGS:
        if known[name] is not None:
            table[name] = known[name]
    env = {name: value for name, value, kind in flags if kind == "env"}
    job = {name: _number(value) for name, value, kind in flags if kind == "scheduler"}
    for _, value, kind in flags:
        if kind == "clock":  # tables print GHz, schedulers take MHz
            job["freq"] = round(1000 * float(value))
    for name, values in (("env", env), ("job", job)):
        if values:
            table[name] = tomlkit.inline_table()
            table[name].update(values)
    return table


def _number(value: str) -> str | int:
    return int(value) if value.isdigit() else value
