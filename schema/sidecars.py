"""Links of sidecar files to runs, stored, and checked against their statements."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from .migrate import now_utc
from .repeated_logs import (
    EVENTS,
    RANK_FILES,
    STATE,
    WANDB,
    copies,
    of_one_job,
    same_steps,
    states,
)
from .sidecar_links import ALONE, Companion, Link, Log, links, numbers_of
from .warehouse import Warehouse, transaction

# Fields that differ in a file of another job.
_SHAPE_FIELDS = (
    "ranks",
    "dp",
    "tp",
    "pp",
    "cp",
    "ep",
    "mbs",
    "layers",
    "hidden",
    "heads",
    "seq_len",
)
# A job needs a process on each of its nodes, so that more nodes than ranks are of another job.
_CONTRADICTING = """
    WITH linked AS (
        SELECT unnest($sources) AS source_id, unnest($runs) AS run_id
    ), stated AS (
        UNPIVOT (
            SELECT run_id, COLUMNS(* EXCLUDE (run_id))::VARCHAR
            FROM runs SEMI JOIN linked USING (run_id) LEFT JOIN topology USING (run_id)
        ) ON * EXCLUDE (run_id) INTO NAME field VALUE value
    )
    SELECT l.source_id, l.run_id, list(DISTINCT f.field ORDER BY f.field)
    FROM linked l JOIN sources s ON s.source_id = l.source_id AND s.kind = 'companion'
    JOIN raw.facts f ON f.load_id = s.load_id AND f.scope = 'column'
    JOIN stated t ON t.run_id = l.run_id
    WHERE (t.field = f.field AND list_contains($fields, f.field)
            AND NOT says_the_same(f.field, t.value, f.value))
        OR (f.field = 'nodes' AND t.field = 'ranks'
            AND try_cast(f.value AS BIGINT) > try_cast(t.value AS BIGINT))
    GROUP BY ALL"""


def find_links(warehouse: Warehouse) -> list[Link]:
    """The links of the files in the warehouse."""
    # Runs in every command that reads paths: few have a companion or an event file.
    kinds = """SELECT 1 FROM raw.sources WHERE kind = 'companion' OR format IN (?, ?)
               UNION ALL SELECT 1 FROM raw.loads
               WHERE regexp_matches(uri, ?) OR regexp_matches(uri, ?) LIMIT 1"""
    if not warehouse.rows(kinds, [EVENTS, STATE, WANDB, RANK_FILES]):
        return []
    copied = copies(warehouse)
    repeating = same_steps(warehouse)
    log_of = {run: log for _, run, log, _ in repeating}
    repeating += [
        (source, run, log_of.get(last, last), rule)
        for source, run, last, rule in states(warehouse)
        if run not in log_of
    ]
    companions = _companions(warehouse)
    same: list[Link] = [(source, log, rule) for source, _, log, rule in [*copied, *repeating]]
    same += of_one_job(warehouse)
    if not companions:
        return sorted(same, key=str)
    # The companions of a copy belong to the run that it is a copy of.
    run_of = {run: log for _, run, log, _ in copied}
    found = [
        (source, run_of.get(run, run) if run else run, why)
        for source, run, why in links(companions, _logs(warehouse))
    ]
    against = _contradictions(warehouse, [link for link in found if link[2] == ALONE])
    kept = {
        (source, None, f"contradicts the log in {', '.join(names)}; probably of another run")
        if (names := against.get((source, run)))
        else (source, run, why)
        for source, run, why in found
    }
    return sorted([*kept, *same], key=str)


def _contradictions(
    warehouse: Warehouse, found: Sequence[Link]
) -> dict[tuple[str, str | None], list[str]]:
    """Sidecar files next to a log by chance, as they state another shape or layout."""
    if not found:
        return {}
    sources, runs = zip(*((source, run) for source, run, _ in found), strict=True)
    parameters = {"sources": list(sources), "runs": list(runs), "fields": list(_SHAPE_FIELDS)}
    rows = warehouse.rows(_CONTRADICTING, parameters)
    return {(source, run): names for source, run, names in rows}


def store_links(warehouse: Warehouse, found: Sequence[Link]) -> bool:
    """Store the links as the newest set; False if they are."""
    set_id = _digest(found)
    if set_id == _newest(warehouse):
        return False
    with transaction(warehouse):
        known = warehouse.rows("SELECT 1 FROM raw.links WHERE set_id = ? LIMIT 1", [set_id])
        warehouse.con.execute("INSERT INTO raw.link_sets VALUES (?, ?)", [set_id, now_utc()])
        if found and not known:
            warehouse.con.executemany(
                "INSERT INTO raw.links VALUES (?, ?, ?, ?)", [[set_id, *link] for link in found]
            )
    return True


def are_stored(warehouse: Warehouse, found: Sequence[Link]) -> bool:
    """Whether the newest set of links is this one."""
    return _digest(found) == _newest(warehouse)


def unlinked(warehouse: Warehouse, uris: Sequence[str]) -> list[str]:
    """The companions among these paths without a run, each with the reason."""
    if not warehouse.rows("FROM raw.sources WHERE kind = 'companion' LIMIT 1"):
        return []
    query = """SELECT uri, rule FROM companions
               WHERE run_id IS NULL AND uri IN (SELECT unnest(?::VARCHAR[])) ORDER BY uri"""
    return [f"{uri}: not used: {rule}" for uri, rule in warehouse.rows(query, [list(uris)])]


def _companions(warehouse: Warehouse) -> list[Companion]:
    query = """SELECT s.source_id, s.uris, s.format,
                   list(f.value) FILTER (f.scope = 'job' AND f.field = 'output'),
                   list(f.value) FILTER (f.scope = 'option'),
                   min(f.value) FILTER (f.scope = 'job' AND f.field = 'job_name')
               FROM sources s LEFT JOIN raw.facts f ON f.load_id = s.load_id
               WHERE s.kind = 'companion' GROUP BY ALL ORDER BY s.source_id"""
    return [
        Companion(source, _paths(uris), kind,
                  tuple(output.replace("%x", name or "%x") for output in outputs or ()),
                  _names(options or ()))
        for source, uris, kind, outputs, options, name in warehouse.rows(query)
    ]  # fmt: skip


def _logs(warehouse: Warehouse) -> list[Log]:
    """Every log with a run; an event file only without a printed log in its folder."""
    # Hidden runs too: links must not depend on their own effect.
    query = """SELECT s.source_id, s.uris, list(r.run_id ORDER BY r.line),
                   flatten(list(r.job_ids)), any_value(n.names),
                   count(DISTINCT struct_pack(t.ranks, t.dp, t.tp, t.pp, t.nodes)), s.format
               FROM sources s JOIN raw.runs r ON r.load_id = s.load_id
               LEFT JOIN raw.topology t ON t.load_id = r.load_id AND t.run_id = r.run_id
               LEFT JOIN (
                   SELECT shown_by AS load_id, list(DISTINCT value) AS names
                   FROM raw.facts JOIN current_loads USING (load_id)
                   WHERE run_id IS NOT NULL AND length(value) < 1000
                       AND regexp_matches(value, '\\.(json|ya?ml|sh|sbatch|slurm)$')
                   GROUP BY ALL
               ) n ON n.load_id = s.load_id
               WHERE s.kind = 'log' GROUP BY s.source_id, s.uris, s.format ORDER BY s.source_id"""
    printed: list[Log] = []
    events: list[Log] = []
    for source, uris, runs, jobs, names, layouts, form in warehouse.rows(query):
        paths = _paths(uris)
        numbers = frozenset(jobs).union(*(numbers_of(path.name) for path in paths))
        made = Log(source, paths, tuple(runs), numbers, _names(names or ()), layouts)
        (events if form in (EVENTS, STATE) else printed).append(made)
    folders = {path.parent for log in printed for path in log.paths}
    return printed + [log for log in events if not folders & {path.parent for path in log.paths}]


def _paths(uris: Iterable[str]) -> tuple[PurePosixPath, ...]:
    return tuple(map(PurePosixPath, uris))


def _names(values: Iterable[str]) -> frozenset[str]:
    return frozenset(value.rsplit("/", 1)[-1] for value in values)


def _digest(found: Sequence[Link]) -> str:
    return hashlib.sha256(repr(list(found)).encode()).hexdigest()[:16] if found else ""


def _newest(warehouse: Warehouse) -> str:
    query = "SELECT set_id FROM raw.link_sets ORDER BY made_at DESC, set_id LIMIT 1"
    return next((str(set_id) for (set_id,) in warehouse.rows(query)), "")
