"""Annotations of runs from outside of their sources, ranked and stored.

People annotate runs in facts.toml, with `--set` and by patterns of paths; so do sidecar files of a
job and the logs of its other ranks. `annotations.sql` ranks them; its result is stored as a set in
the table of facts, whose newest set counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ..vocabulary.fields import stated_by
from .annotation import FILE, FINDING, SET, Annotation, Match, annotated_runs
from .migrate import now_utc
from .sql import sql_file
from .warehouse import Warehouse, transaction

# Formats of sidecar files: written by the run itself first, then the request, then the environment.
_SIDECARS = ("W&B machine", "W&B configuration", "Hydra configuration", "DeepSpeed configuration",
             "job script", "list of the environment", "list of packages")  # fmt: skip
_GIVEN = {"run_id": "string", "field": "string", "value": "string", "file": "string",
          "line": "int64", "reason": "string", "author": "string", "stated_on": "date32",
          "origin": "string", "known_since": "date32", "withdrawn_on": "date32",
          "about": "string", "position": "int32"}  # fmt: skip
_NEWEST = "SELECT set_id FROM raw.fact_sets ORDER BY made_at DESC, set_id LIMIT 1"
_ANY = """SELECT 1 FROM raw.told UNION ALL SELECT 1 FROM raw.links UNION ALL
          SELECT 1 FROM raw.facts WHERE source_kind IS NOT NULL LIMIT 1"""
_STORE = """INSERT INTO raw.facts BY NAME
    SELECT $set_id AS load_id, run_id, field, value, reason AS raw, line, 'annotation' AS scope,
        CASE origin WHEN 'bundle' THEN 'stated' ELSE 'user' END AS how, origin AS source_kind,
        file, author, stated_on, known_since, withdrawn_on, outcome, stated AS counting
    FROM ranked"""


@dataclass(frozen=True, slots=True)
class Ranked:
    """All annotations of the runs of a warehouse, each with its outcome."""

    set_id: str  # digest of the rows; '' without rows
    rows: tuple[tuple[Any, ...], ...] = ()
    columns: tuple[str, ...] = ()


def rank_annotations(warehouse: Warehouse, annotations: Sequence[Annotation]) -> Ranked:
    """Rank the annotations of the present runs: these, --set and sidecar files.

    Runs that arrive later are annotated then: this is called after each ingest.
    """
    stated = [annotation for annotation in annotations if annotation.field != FINDING]
    if not stated and not warehouse.rows(_ANY):
        return Ranked("")
    columns, rows = _with(
        warehouse, "given", _GIVEN, annotated_runs(warehouse, stated), sql_file("annotations"),
        {"of_ranks": _fields_of_ranks(), "sidecars": list(_SIDECARS)},
    )  # fmt: skip
    set_id = hashlib.sha256(repr(rows).encode()).hexdigest()[:16] if rows else ""
    return Ranked(set_id, tuple(rows), tuple(columns))


def is_stored(warehouse: Warehouse, ranked: Ranked) -> bool:
    """Whether the newest set is this one."""
    return ranked.set_id == _newest(warehouse)


def store_annotations(warehouse: Warehouse, ranked: Ranked) -> None:
    """Store annotations as the newest set, unless it is stored."""
    if is_stored(warehouse, ranked):
        return
    set_id = ranked.set_id
    with transaction(warehouse):
        known = warehouse.rows("SELECT 1 FROM raw.facts WHERE load_id = ? LIMIT 1", [set_id])
        warehouse.con.execute("INSERT INTO raw.fact_sets VALUES (?, ?)", [set_id, now_utc()])
        if ranked.rows and not known:
            types = {name: _GIVEN.get(name, "string") for name in ranked.columns}
            _with(warehouse, "ranked", types, ranked.rows, _STORE, {"set_id": set_id})


def contradictions(warehouse: Warehouse, uris: Sequence[str] | None = None) -> list[str]:
    """The annotations of sources (of `uris`, if given) that do not count, one sentence each."""
    if not warehouse.rows("FROM raw.facts WHERE source_kind IS NOT NULL LIMIT 1"):
        return []
    query = """SELECT r.uri, min(r.line), u.field, u.value, u.stated, u.outcome, u.file, u.line,
                      u.origin, count(*)
               FROM annotations u JOIN runs r ON r.run_id = u.run_id
               WHERE u.outcome IN ('contradicts', 'outvoted')
                   AND ($all OR r.uri IN (SELECT unnest($uris::VARCHAR[])))
               GROUP BY ALL ORDER BY ALL"""
    rows = warehouse.rows(query, {"all": uris is None, "uris": list(uris or ())})
    return [
        f"{uri}:{line}: {file if origin == SET else f'{file}:{at}'} "
        f"states {name} = {value}, but "
        + ("the source" if outcome == "contradicts" else "an annotation of higher precedence")
        + f" states {counting}: {counting} is used"
        + ("; take one of them back: withdrawn, withdrawn_because" * _is_to_choose(outcome, origin))
        + (f" ({runs} runs)" if runs > 1 else "")
        for uri, line, name, value, counting, outcome, file, at, origin, runs in rows
    ]


def _is_to_choose(outcome: str, origin: str) -> bool:
    """Whether two entries of facts.toml disagree, and neither is marked as the newer."""
    return outcome == "outvoted" and origin == FILE


def _fields_of_ranks() -> list[str]:
    """The fields that the log of any rank states for the whole job.

    The length of the training is no part of the set-up, and not every rank prints booleans.
    """
    return [
        field.name
        for field in stated_by("log")
        if field.name != "train_iters" and field.type != "BOOLEAN"
    ]


def _newest(warehouse: Warehouse) -> str:
    """The id of the newest set; '' without annotations."""
    return next((str(set_id) for (set_id,) in warehouse.rows(_NEWEST)), "")


def _with(
    warehouse: Warehouse,
    name: str,
    types: Mapping[str, str],
    rows: Sequence[tuple[Any, ...]],
    query: str,
    parameters: Mapping[str, object],
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows of a query that reads these rows as a table."""
    import pyarrow as pa  # needed by few commands

    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    made = [
        pa.array(values, getattr(pa, kind)())
        for values, kind in zip(columns, types.values(), strict=True)
    ]
    warehouse.con.register(name, pa.table(made, names=list(types)))
    try:
        return warehouse.table(query, parameters)
    finally:
        warehouse.con.unregister(name)


Overrides = Mapping[str, str | None]  # field -> value; None withdraws an override

_OVERRIDES = """SELECT source_id, field, value, told_at FROM raw.told
    QUALIFY row_number() OVER (PARTITION BY source_id, field ORDER BY told_at DESC, value) = 1
    ORDER BY source_id, field"""


def document_overrides(warehouse: Warehouse) -> tuple[Annotation, ...]:
    """The overrides of documents, on which their audit depends."""
    newest = warehouse.rows(_OVERRIDES)
    logs = {source for (source,) in warehouse.rows(
        "SELECT source_id FROM sources WHERE kind = 'log'"
    )} if newest else set()  # fmt: skip
    return tuple(
        Annotation(Match(source=source), field, value, "given with --set", "", at.date(), "--set",
                   origin=SET)
        for source, field, value, at in newest
        if value is not None and source not in logs
    )  # fmt: skip


def missing_overrides(
    warehouse: Warehouse, uris: Sequence[str], overrides: Overrides
) -> list[tuple[str, str]]:
    """Source and field of overrides that these sources lack, compared as text."""
    if not overrides:
        return []
    known = {(source, field): value for source, field, value, _ in warehouse.rows(_OVERRIDES)}
    wanted = set(uris)
    query = "SELECT source_id, uris FROM sources WHERE kind <> 'companion' ORDER BY source_id"
    sources = [source for source, names in warehouse.rows(query) if not wanted.isdisjoint(names)]
    return [
        (source, field)
        for source in sources
        for field, value in overrides.items()
        if known.get((source, field)) != value
    ]


def store_overrides(warehouse: Warehouse, uris: Sequence[str], overrides: Overrides) -> None:
    """Store overrides of the sources at these paths, in place of earlier ones."""
    rows = missing_overrides(warehouse, uris, overrides)
    if not rows:
        return
    with transaction(warehouse):
        [(last,)] = warehouse.rows("SELECT max(told_at) FROM raw.told")
        # Later than all before, whatever the clock shows.
        at = now_utc() if last is None else max(now_utc(), last + timedelta(microseconds=1))
        warehouse.con.executemany(
            "INSERT INTO raw.told VALUES (?, ?, ?, ?)",
            [[source, field, overrides[field], at] for source, field in rows],
        )
