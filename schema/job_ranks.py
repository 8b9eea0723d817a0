"""Files of the ranks of one job: the first states the run, the last prints its steps."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from .user_facts import BUNDLE, Match, UserFact
from .warehouse import Warehouse

RULE = "ranks of one job"
# mpiexec -std-proc output.%j/%m/%/1000r/stdproc; torchrun --log-dir --redirects
FILES = r"(?:^|/)(?:stdproc\.\d+\.\d+|attempt_\d+/\d+/std(?:out|err)\.log)$"
_STDPROC = re.compile(r"(?P<folder>(?:.*/)?)(?P<mpiexec>stdproc\.\d+)\.(?P<rank>\d+)")
_ATTEMPT = re.compile(r"(?P<job>.*attempt_\d+/)\d+/std\w+\.log")
_ANY = """
    SELECT 1 FROM raw.loads WHERE regexp_matches(uri, $files) LIMIT 1"""
_RUNS = """
    SELECT s.source_id, unnest(s.uris) AS uri, r.run_id, r.status,
        EXISTS (SELECT 1 FROM raw.iterations i WHERE i.run_id = r.run_id) AS has_steps
    FROM sources s JOIN raw.runs r ON r.load_id = s.load_id
    WHERE s.kind = 'log' AND regexp_matches(array_to_string(s.uris, chr(10)), $files, 'm')
    ORDER BY ALL"""
COLUMNS = (
    "layers", "hidden", "heads", "kv_heads", "ffn_hidden", "seq_len", "vocab", "dtype", "recompute",
    "device", "experts", "params_stated",
)  # fmt: skip
LAYOUT = (
    "nodes", "devices", "ranks", "devices_per_node", "dp", "dp_replicate", "dp_shard", "tp", "pp",
    "cp", "ep", "vpp", "mbs", "gbs", "grad_accum", "zero_stage",
)  # fmt: skip


def of_one_job(warehouse: Warehouse) -> list[tuple[str, str | None, str]]:
    """Files of ranks that print no steps, and the run of the one file that does: source, run, rule.

    What tells of a failure stays a run of its own, and so do ranks that all print steps.
    """
    jobs: dict[str, list[tuple[str, str, str, bool]]] = defaultdict(list)
    # Whether runs have steps costs a look at all steps: few warehouses hold such files.
    if not warehouse.rows(_ANY, {"files": FILES}):
        return []
    for source, uri, run, status, has_steps in warehouse.rows(_RUNS, {"files": FILES}):
        if job := _job_of(uri):
            jobs[job].append((source, run, status, has_steps))
    return [link for runs in jobs.values() for link in _links(runs)]


def _job_of(uri: str) -> str | None:
    """What the files of all ranks of a job have in common."""
    if found := _ATTEMPT.fullmatch(uri):
        return found["job"]
    if found := _STDPROC.fullmatch(uri):
        # `%m/%/1000r/`: a folder for every thousand ranks, below that of the mpiexec.
        thousand = f"{int(found['rank']) // 1000}/"
        split = re.search(rf"(?:^|/)\d+/{thousand}$", found["folder"])
        folder = found["folder"].removesuffix(thousand) if split else found["folder"]
        return folder + found["mpiexec"]
    return None


def _links(runs: list[tuple[str, str, str, bool]]) -> Iterator[tuple[str, str | None, str]]:
    training = [run for _, run, _, has_steps in runs if has_steps]
    if len(training) != 1:
        return
    for source, _, status, has_steps in runs:
        if not has_steps and status in ("ok", "running"):
            yield source, training[0], RULE


def rank_facts(warehouse: Warehouse) -> Iterator[UserFact]:
    """What the files of other ranks state of columns, as facts about the run."""
    for run, source, uri, line, name, value in _stated(warehouse):
        match = Match(source=source, run=run)
        yield UserFact(match, name, value, "another rank of the job", "", None, uri, line, BUNDLE)


def _stated(warehouse: Warehouse) -> Iterator[tuple[str, str, str, int, str, str]]:
    query = """SELECT k.run_id, o.source_id, k.uri, r.line, r.run_id
               FROM companions k JOIN runs o ON o.run_id = k.run_id
               JOIN sources s ON s.source_id = k.source_id
               JOIN raw.runs r ON r.load_id = s.load_id
               WHERE k.rule = ? ORDER BY ALL"""
    for run, source, uri, line, other in warehouse.rows(query, [RULE]):
        for table, names in (("runs", COLUMNS), ("topology", LAYOUT)):
            chosen = ", ".join(f"{name}::VARCHAR" for name in names)
            found = f"SELECT DISTINCT {chosen} FROM raw.{table} WHERE run_id = ?"
            for values in warehouse.rows(found, [other]):
                for name, value in zip(names, values, strict=True):
                    if value is not None:
                        yield run, source, uri, line, name, value
