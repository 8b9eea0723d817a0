"""TensorBoard event files that tell the steps of a log: one run must not count twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from .warehouse import Warehouse

RULE = "same steps"
EVENTS = "TensorBoard"
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

# What a join finds quickly: rounded norms of gradients, or losses, of the same iterations.
_ALIKE = """
    WITH steps AS (
        SELECT s.source_id, s.uris, i.run_id, s.format = ? AS events, i.iteration,
            round(i.grad_norm, 2) AS grad_norm, round(i.loss, 4) AS loss
        FROM raw.iterations i JOIN current_loads c ON c.load_id = i.load_id
        JOIN sources s ON s.load_id = c.shown_by
        WHERE s.kind = 'log' AND EXISTS (SELECT 1 FROM sources WHERE format = ?)
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


def same_steps(warehouse: Warehouse) -> list[tuple[str, str | None, str]]:
    """Event files and the run of a log that each repeats: source, run, rule.

    They lie in one folder, or one below the other; five iterations or more agree in learning rate
    and in the norm of the gradient (else the loss), as printed, and none differs.
    """
    found: list[tuple[str, str | None, str]] = []
    for source, events, run in _candidates(warehouse):
        [(agree, differ)] = warehouse.rows(_AGREE, {"log": run, "events": events})
        if agree >= _LEAST and not differ:
            found.append((source, run, RULE))
    return found


def _candidates(warehouse: Warehouse) -> Iterator[tuple[str, str, str]]:
    """Event files and runs that share some numbers, and lie in one line of folders."""
    for source, events, uris, run, others in warehouse.rows(_ALIKE, [EVENTS, EVENTS]):
        if any(
            one == other or one in other.parents or other in one.parents
            for one in _folders(others)
            for other in _folders(uris)
        ):
            yield source, events, run


def _folders(uris: list[str]) -> list[PurePosixPath]:
    return [PurePosixPath(uri).parent for uri in uris]
