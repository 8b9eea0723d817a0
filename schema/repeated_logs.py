"""Files that repeat the run of a log, which must not count twice.

Event files, W&B's output and HF Trainer's state repeat its steps; of the files of the ranks of one
job the first states the run, and the last prints its steps.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath

from .warehouse import Warehouse

WANDB = r"(?m)(^|/)wandb/[^/\n]+/files/output\.log$"  # W&B's copy of a run's output
SAME_STEPS, RANKS = "same steps", "ranks of one job"  # reasons for linking a file to the run
EVENTS = "TensorBoard"
STATE = "hf_state"  # HF Trainer's trainer_state.json, with which each checkpoint is saved
_LEAST = 5  # common iterations
# Of the last iteration of an interval, with the digits that logs print; a loss may be a mean.
_AGREE = """
    WITH of_log AS (
        SELECT iteration, lr, grad_norm, loss
        FROM raw.iterations i JOIN current_loads USING (load_id)
        WHERE i.run_id = $log
        QUALIFY row_number() OVER (PARTITION BY iteration ORDER BY segment DESC, line DESC) = 1
    ), of_events AS (
        SELECT iteration, lr, grad_norm, loss
        FROM raw.iterations i JOIN current_loads USING (load_id)
        WHERE i.run_id = $events
        QUALIFY row_number() OVER (PARTITION BY iteration ORDER BY segment DESC, line DESC) = 1
    ), compared AS (
        SELECT abs(l.lr - e.lr) <= 6e-4 * abs(l.lr) + 1e-12 AS lr,
            abs(l.grad_norm - e.grad_norm) <= 6e-4 + 1e-6 * abs(l.grad_norm) AS grad_norm,
            abs(l.loss - e.loss) <= 1e-5 * abs(l.loss) AS loss
        FROM of_log l JOIN of_events e USING (iteration)
    )
    SELECT count(*) FILTER (lr AND coalesce(grad_norm, loss)),
        count(*) FILTER (NOT lr OR NOT coalesce(grad_norm, loss))
    FROM compared"""

# Keys of a fast join: rounded norms of gradients, or losses, of the same iterations.
_ALIKE = """
    WITH steps AS (
        SELECT s.source_id, s.uris, i.run_id, s.format IN $formats AS events, i.iteration,
            round(i.grad_norm, 2) AS grad_norm, round(i.loss, 4) AS loss
        FROM raw.iterations i JOIN current_loads c ON c.load_id = i.load_id
        JOIN sources s ON s.load_id = c.shown_by
        WHERE s.kind = 'log' AND EXISTS (SELECT 1 FROM sources WHERE format IN $formats)
    ), alike AS (
        SELECT e.run_id AS events, l.run_id AS log, e.iteration
        FROM steps e JOIN steps l ON l.iteration = e.iteration AND l.grad_norm = e.grad_norm
        WHERE e.events AND NOT l.events
        UNION
        SELECT e.run_id, l.run_id, e.iteration
        FROM steps e JOIN steps l ON l.iteration = e.iteration AND l.loss = e.loss
        WHERE e.events AND NOT l.events
    ), pairs AS (
        SELECT events, log FROM alike GROUP BY ALL HAVING count(DISTINCT iteration) >= 3
    ), runs_of AS (SELECT DISTINCT run_id, source_id, uris FROM steps)
    SELECT e.source_id, p.events, e.uris, p.log, l.uris
    FROM pairs p JOIN runs_of e ON e.run_id = p.events JOIN runs_of l ON l.run_id = p.log
    ORDER BY ALL"""

# The output of a run, and runs of other logs with an identical first line.
_COPIES = """
    WITH starts AS (
        SELECT s.source_id, s.uris, f.run_id, f.value,
            regexp_matches(array_to_string(s.uris, chr(10)), $output) AS output
        FROM raw.facts f JOIN current_loads c ON c.load_id = f.load_id
        JOIN sources s ON s.load_id = c.shown_by
        WHERE f.field = 'first_step' AND f.scope = 'step' AND s.kind = 'log'
    ), alone AS (
        FROM starts WHERE output
        QUALIFY count(*) OVER (PARTITION BY source_id) = 1
    )
    SELECT o.source_id, o.run_id, o.uris, l.run_id, l.uris
    FROM alone o JOIN starts l ON l.value = o.value
    WHERE NOT l.output
    ORDER BY ALL"""
_DIFFER = """
    SELECT count(*) FROM (
        SELECT segment, iteration, step_time_s, loss, printed_at
        FROM raw.iterations i JOIN current_loads USING (load_id) WHERE i.run_id = $log
    ) l JOIN (
        SELECT segment, iteration, step_time_s, loss, printed_at
        FROM raw.iterations i JOIN current_loads USING (load_id) WHERE i.run_id = $output
    ) o USING (segment, iteration)
    WHERE l.step_time_s IS DISTINCT FROM o.step_time_s OR l.loss IS DISTINCT FROM o.loss
        OR l.printed_at <> o.printed_at"""
_STATES = """
    SELECT s.source_id, s.uris, f.run_id, f.value, max(i.iteration) AS last
    FROM raw.facts f JOIN current_loads c ON c.load_id = f.load_id
    JOIN sources s ON s.load_id = c.shown_by
    JOIN raw.iterations i ON i.load_id = f.load_id AND i.run_id = f.run_id
    WHERE f.field = 'first_step' AND f.scope = 'step' AND s.format = $state
    GROUP BY ALL
    ORDER BY ALL"""
_CHECKPOINT = re.compile(r"(?:^|/)checkpoint-\d+$")
# mpiexec -std-proc output.%j/%m/%/1000r/stdproc; torchrun --log-dir --redirects
RANK_FILES = r"(?:^|/)(?:stdproc\.\d+\.\d+|attempt_\d+/\d+/std(?:out|err)\.log)$"
_STDPROC = re.compile(r"(?P<folder>(?:.*/)?)(?P<mpiexec>stdproc\.\d+)\.(?P<rank>\d+)")
_ATTEMPT = re.compile(r"(?P<job>.*attempt_\d+/)\d+/std\w+\.log")
_ANY_RANKS = """
    SELECT 1 FROM raw.loads WHERE regexp_matches(uri, $files) LIMIT 1"""
_RUNS_OF_RANKS = """
    SELECT s.source_id, unnest(s.uris) AS uri, r.run_id, r.status,
        EXISTS (SELECT 1 FROM raw.iterations i WHERE i.run_id = r.run_id) AS has_steps
    FROM sources s JOIN raw.runs r ON r.load_id = s.load_id
    WHERE s.kind = 'log' AND regexp_matches(array_to_string(s.uris, chr(10)), $files, 'm')
    ORDER BY ALL"""


def copies(warehouse: Warehouse) -> list[tuple[str, str, str, str]]:
    """W&B's copies of the output of a log's run: source and run of the copy, the log's run, rule.

    The log is in the folder of the `wandb` folder, above or below it; the first step is the same
    line, and no common step differs in time or loss.
    """
    found: dict[str, tuple[str, str, str, str]] = {}
    for source, run, uris, log, others in warehouse.rows(_COPIES, {"output": WANDB}):
        homes = [home.parents[2] for home in _folders(uris) if len(home.parents) > 2]
        if source not in found and _in_line(homes, _folders(others)):
            [(differ,)] = warehouse.rows(_DIFFER, {"log": log, "output": run})
            if not differ:
                found[source] = source, run, log, SAME_STEPS
    return list(found.values())


def same_steps(warehouse: Warehouse) -> list[tuple[str, str, str, str]]:
    """Event files and states, and the run of a log that each repeats: source, own run, run, rule.

    They are in one folder, or one below the other; five iterations or more agree in learning rate
    and in the norm of the gradient (else the loss), as printed, and none differs.
    """
    found: list[tuple[str, str, str, str]] = []
    for source, events, run in _candidates(warehouse):
        [(agree, differ)] = warehouse.rows(_AGREE, {"log": run, "events": events})
        if agree >= _LEAST and not differ:
            found.append((source, events, run, SAME_STEPS))
    return found


def states(warehouse: Warehouse) -> list[tuple[str, str, str, str]]:
    """States of one training, saved with its checkpoints: source, own run, run of the last, rule.

    They are in one folder and its `checkpoint-N`, and begin with the same line.
    """
    last: dict[tuple[str, str], str] = {}
    found: list[tuple[str, str, str, str]] = []
    stored = warehouse.rows(_STATES, {"state": STATE})
    # Of two that reach as far, the one in the folder itself is written at the end.
    for source, uris, run, first, _ in sorted(stored, key=lambda row: (-row[4], len(row[1][0]))):
        homes = [_CHECKPOINT.sub("", str(home)) for home in _folders(uris)]
        known = [last[home, first] for home in homes if (home, first) in last]
        last |= {(home, first): run for home in homes if (home, first) not in last}
        if known:
            found.append((source, run, known[0], SAME_STEPS))
    return found


def _candidates(warehouse: Warehouse) -> Iterator[tuple[str, str, str]]:
    """Event files and runs with common numbers, in folders of one path."""
    for source, events, uris, run, others in warehouse.rows(_ALIKE, {"formats": [EVENTS, STATE]}):
        if _in_line(_folders(others), _folders(uris)):
            yield source, events, run


def _in_line(some: list[PurePosixPath], others: list[PurePosixPath]) -> bool:
    return any(
        pure_posix_path == other
        or pure_posix_path in other.parents
        or other in pure_posix_path.parents
        for pure_posix_path in some
        for other in others
    )


def _folders(uris: list[str]) -> list[PurePosixPath]:
    return [PurePosixPath(uri).parent for uri in uris]


def of_one_job(warehouse: Warehouse) -> list[tuple[str, str | None, str]]:
    """Files of ranks that print no steps, and the run of the one file that does: source, run, rule.

    Logs with a failure stay separate runs, as do ranks that all print steps.
    """
    jobs: dict[str, list[tuple[str, str, str, bool]]] = defaultdict(list)
    # Looking for runs with steps reads all steps: few warehouses have such files.
    if not warehouse.rows(_ANY_RANKS, {"files": RANK_FILES}):
        return []
    for source, uri, run, status, has_steps in warehouse.rows(
        _RUNS_OF_RANKS, {"files": RANK_FILES}
    ):
        if job := _job_of(uri):
            jobs[job].append((source, run, status, has_steps))
    return [link for runs in jobs.values() for link in _links(runs)]


def _job_of(uri: str) -> str | None:
    """The common part of the names of all ranks' files of a job."""
    if match := _ATTEMPT.fullmatch(uri):
        return match["job"]
    if match := _STDPROC.fullmatch(uri):
        # `%m/%/1000r/`: a folder for every thousand ranks, below the one of mpiexec.
        thousand = f"{int(match['rank']) // 1000}/"
        split = re.search(rf"(?:^|/)\d+/{thousand}$", match["folder"])
        folder = match["folder"].removesuffix(thousand) if split else match["folder"]
        return folder + match["mpiexec"]
    return None


def _links(runs: list[tuple[str, str, str, bool]]) -> Iterator[tuple[str, str | None, str]]:
    training = [run for _, run, _, has_steps in runs if has_steps]
    if len(training) != 1:
        return
    for source, _, status, has_steps in runs:
        if not has_steps and status in ("ok", "ended", "running"):
            yield source, training[0], RANKS
