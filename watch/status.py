"""Status of watched runs: the newest step, the remaining time, and warnings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Any

from ..decide.budget import SECONDS_A_DAY
from ..ingest.files.folders import has_successor
from ..ingest.logs.termination import INTERVALS, LEAST_S
from ..schema.warehouse import Warehouse

LATELY = 5  # intervals whose median is compared with the steady state
STEADY = 10  # intervals that make a steady state
NAN_WITHIN = 50  # intervals for which a nan is reported
SLOWER = 1.2  # times the steady step time: anything slower is reported
# Metrics for detecting a slow run, the best first.
_PACES = {
    "step_time_s": "s/it",
    "samples_per_s": "samples/s",
    "tokens_per_s": "tokens/s",
    "tokens_per_s_per_device": "tokens/s/device",
}
_OVER = frozenset(("ok", "oom", "fail", "timeout", "cancelled", "hang"))


@dataclass(frozen=True, slots=True)
class Budget:
    """The training length for days: tokens, else steps, else the run's own plan."""

    tokens: int | None = None
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class RunStatus:
    """One watched run; times in s, TFLOP/s per GPU, `warnings` as sentences."""

    uri: str
    run_id: str
    model: str | None
    status: str
    iteration: int | None
    planned: int | None  # iterations
    step_time_s: float | None
    tflops: float | None
    loss: float | None
    tokens: int | None  # since the start of training
    eta_s: float | None
    days: float | None
    age_s: float
    warnings: tuple[str, ...]

    @property
    def hangs(self) -> bool:
        """Whether the log has not grown for too long."""
        return any(warning.startswith("hang?") for warning in self.warnings)


def statuses(
    warehouse: Warehouse,
    watched: Mapping[str, Path],
    budget: Budget,
    now: float,
    hang_after: float | None = None,
) -> list[RunStatus]:
    """The newest run of each file; `now` in seconds since the epoch, as in mtimes.

    A run hangs after `hang_after` seconds without a line, by default after ten of its intervals
    and five minutes; a run continued in another file never does.
    """
    query = files(__package__ or "bench.watch").joinpath("status.sql").read_text("utf-8")
    parameters = {"uris": list(watched), "lately": LATELY, "nan_within": NAN_WITHIN}

    def status_of(row: dict[str, Any], away: Collection[str] = ()) -> RunStatus:
        path = watched[row["uri"]]
        is_last_part = row["run_id"] not in away and not has_successor(path)
        age_s, running = (
            max(now - _changed(path, now), 0.0),
            is_last_part and row["status"] not in _OVER,
        )
        return _standing(row, age_s, budget, hang_after, running=running)

    rows = warehouse.dicts(query, parameters)
    found = [status_of(row) for row in rows]
    if not any(one.hangs for one in found):
        return found
    away = {run for (run,) in warehouse.rows("SELECT continues FROM continuations")}
    return [status_of(row, away) for row in rows]


def _changed(path: Path, now: float) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return now


def _standing(
    row: dict[str, Any], age_s: float, budget: Budget, hang_after: float | None, *, running: bool
) -> RunStatus:
    step_s, tokens_a_step = step_time(row), _product(row["gbs"], row["seq_len"])
    usual_s = step_time(row | {name: of["median"] for name, of in (row["lately"] or {}).items()})
    left = (_planned(row, tokens_a_step, budget) or 0) - (row["iteration"] or 0)
    # A log without a final line belongs to an active run while it grows.
    grows = row["status"] == "ended" and running and not _silent(row, age_s, usual_s, hang_after)
    return RunStatus(
        uri=row["uri"],
        run_id=row["run_id"],
        model=row["size"],
        status="running" if grows else row["status"],
        iteration=row["iteration"],
        planned=row["train_iters"],
        step_time_s=step_s,
        tflops=row["tflops"] if row["tflops"] is not None else row["model_tflops"],
        loss=row["loss"],
        tokens=_tokens(row, tokens_a_step),
        eta_s=left * usual_s if running and left > 0 and usual_s and row["iteration"] else None,
        days=_days(row, usual_s, tokens_a_step, budget),
        age_s=age_s,
        warnings=tuple(_warnings(row, age_s, usual_s, hang_after, running=running)),
    )


def step_time(row: Mapping[str, Any]) -> float | None:
    """Seconds per step of an interval: as printed, else from its samples or tokens per second."""
    if row["step_time_s"] is not None:
        return float(row["step_time_s"])
    if row["samples_per_s"] and row["gbs"]:
        return float(row["gbs"] / row["samples_per_s"])
    tokens = _product(row["gbs"], row["seq_len"])
    if row["tokens_per_s"] and tokens:
        return float(tokens / row["tokens_per_s"])
    return None


def _planned(row: Mapping[str, Any], a_step: int | None, budget: Budget) -> int | None:
    """The last step: as planned by the log, else by the budget."""
    planned: int | None = row["train_iters"] or budget.steps
    if planned:
        return planned
    return ceil(budget.tokens / a_step) if budget.tokens and a_step else None


def _tokens(row: Mapping[str, Any], a_step: int | None) -> int | None:
    if row["consumed_tokens"] is not None:
        return int(row["consumed_tokens"])
    return _product(row["consumed_samples"], row["seq_len"]) or _product(row["iteration"], a_step)


def _days(
    row: Mapping[str, Any], step_s: float | None, a_step: int | None, budget: Budget
) -> float | None:
    if not step_s or not a_step:
        return None
    steps = budget.tokens / a_step if budget.tokens else budget.steps or row["train_iters"]
    return float(steps * step_s / SECONDS_A_DAY) if steps else None


def _warnings(
    row: Mapping[str, Any],
    age_s: float,
    step_s: float | None,
    hang_after: float | None,
    *,
    running: bool,
) -> list[str]:
    found = []
    usual = _usual(row, step_s)
    if running and (hang_after is not None or usual) and _silent(row, age_s, step_s, hang_after):
        every = f" (usually every {usual:.3g} s)" if usual else ""
        found.append(f"hang? no output for {age_s:.0f} s{every}")
    if row["nan_at"] is not None:
        found.append(f"nan at iteration {row['nan_at']}")
    elif row["status"] == "nan":
        found.append(f"nan since line {row['status_line']}")
    if running and (slow := _slow(row["steady"] or {}, row["lately"] or {})):
        found.append(slow)
    if row["status"] not in ("ended", "ok", "nan"):
        found.append(f"{row['status']}: {row['status_reason'] or 'no reason in the log'}")
    return found


def _usual(row: Mapping[str, Any], step_s: float | None) -> float | None:
    """The usual seconds between two step lines."""
    usual: float | None = step_s * row["interval_length"] if step_s else row["every_s"]
    return usual


def _silent(
    row: Mapping[str, Any], age_s: float, step_s: float | None, hang_after: float | None
) -> bool:
    """Whether the log has been silent for longer than steps, evaluation or saving take."""
    usual = _usual(row, step_s)
    return age_s > (
        hang_after if hang_after is not None else max(INTERVALS * (usual or 0), LEAST_S)
    )


def _slow(steady: Mapping[str, Any], lately: Mapping[str, Any]) -> str | None:
    """A warning if the newest intervals are slower than the steady state."""
    for metric, unit in _PACES.items():
        usual, now = steady.get(metric), lately.get(metric)
        if not usual or not now or usual["lines"] < STEADY or now["lines"] < LATELY:
            continue
        one, other = now["median"], usual["median"]
        slower = one > SLOWER * other if metric == "step_time_s" else other > SLOWER * one
        return f"slow: {one:.4g} {unit} lately, {other:.4g} {unit} before" if slower else None
    return None


def _product(one: Any, other: Any) -> int | None:
    return int(one * other) if one is not None and other is not None else None
