"""Which hosts are in slow jobs, or in failed ones, more often than chance would put them there."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..schema.errors import BenchError
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.format import counted
from .distributions import Stratum, at_least, expected, least_possible
from .eligible import candidates
from .failures import FAILED
from .jobs import identity, jobs
from .query import Query
from .rows import Decision
from .run_dates import ran
from .statistics import LEVEL, false_discovery

SLOWER = 0.05  # over the median of its configuration, from where on a job is slow
ENOUGH = 4  # jobs of a configuration: fewer have no meaningful median
MARKS = ("slow", "failed")


@dataclass(frozen=True, slots=True)
class Job:
    """A job with the hosts that it ran on: whether it is slow or failed, and its time over the
    median of its configuration (None for failures)."""

    hosts: tuple[str, ...]
    marked: bool
    ratio: float | None
    where: str


def stragglers(warehouse: Warehouse, query: Query, slower: float = SLOWER) -> Decision:
    """The hosts of the jobs of a query, those in slow jobs most surely first.

    `query.by` is slow (against jobs of the same configuration, `slower` as a share) or failed
    (against all jobs). Raises BenchError where no job names its hosts.
    """
    by = query.by or MARKS[0]
    chosen = candidates(warehouse, query)
    places = {run: one.hosts for run, one in ran(warehouse).items()}
    logs = [row for row in chosen.rows if row["origin"] == "log"]
    if not any(places.get(row["run"]) for row in logs):
        raise BenchError(
            "no log names the hosts of its job",
            why=f"{counted(len(logs), 'log')} searched for SLURM_JOB_NODELIST, hosts of launchers"
            " and of sidecar files",
            hint="print SLURM_JOB_NODELIST in the job script: env | grep SLURM",
        )
    if by == "failed":
        sets = [_failed(logs, places)]
    else:
        sets = _slow(chosen.eligible("pace").kept, places, slower)
    rows = _tested(sets) if any(job.marked for one in sets for job in one) else []
    every = [job for one in sets for job in one]
    facts: dict[str, Any] = {
        "by": by,
        "slower": slower,
        "jobs": len(every),
        "marked": sum(job.marked for job in every),
        "configurations": len(sets),
        "hosts": len({host for job in every for host in job.hosts}),
        "nameless": sum(not places.get(row["run"]) for row in logs),
        "sure": [row for row in rows if row["verdict"] == "more often than chance"],
        "level": LEVEL,
    }
    return Decision("stragglers", tuple(rows), (), facts)


def _failed(rows: Sequence[Row], places: dict[str, tuple[str, ...]]) -> list[Job]:
    """Every job that names its hosts and whose end is known."""
    found = []
    for job in jobs(row for row in rows if row["status"] in ("ok", *FAILED)):
        if hosts := _hosts_of(job, places):
            broken = [row for row in job if row["status"] in FAILED]
            found.append(Job(hosts, bool(broken), None, (broken or job)[0]["where"]))
    return found


def _slow(
    rows: Iterable[Row], places: dict[str, tuple[str, ...]], slower: float
) -> list[list[Job]]:
    """The jobs that name their hosts, by configuration, of configurations with enough of them."""
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        if row["origin"] == "log":
            groups.setdefault(identity(row), []).append(row)
    found = []
    for group in groups.values():
        timed = [
            (hosts, median(row["pace"] for row in job), job[0]["where"])
            for job in jobs(group)
            if (hosts := _hosts_of(job, places))
        ]
        if len(timed) >= ENOUGH:
            middle = median(pace for _, pace, _ in timed)
            found.append([
                Job(hosts, pace > middle * (1 + slower), pace / middle, where)
                for hosts, pace, where in timed
            ])  # fmt: skip
    return found


def _hosts_of(job: Sequence[Row], places: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({host for row in job for host in places.get(row["run"], ())}))


def _tested(sets: Sequence[Sequence[Job]]) -> list[Row]:
    """A row for each host; hosts that were always in the same jobs are indistinguishable."""
    together: dict[tuple[tuple[int, ...], ...], list[str]] = {}
    for host in sorted({host for one in sets for job in one for host in job.hosts}):
        key = tuple(tuple(n for n, job in enumerate(one) if host in job.hosts) for one in sets)
        together.setdefault(key, []).append(host)
    rows = [_row(hosts, sets) for hosts in together.values()]
    # Who was in every job, or in none that is marked at all, is not tested: nothing could show.
    tested = [row for row in rows if row["least"] < 1]
    for row, q in zip(tested, false_discovery([row["p_value"] for row in tested]), strict=True):
        row["q_value"] = q
    for row in rows:
        row["verdict"] = _verdict(row, len(tested))
    return sorted(rows, key=lambda row: (row["p_value"], -row["marked"], row["host"]))


def _row(hosts: Sequence[str], sets: Sequence[Sequence[Job]]) -> dict[str, Any]:
    own = [[job for job in one if hosts[0] in job.hosts] for one in sets]
    strata = [
        Stratum(len(one), sum(job.marked for job in one), len(of), sum(job.marked for job in of))
        for one, of in zip(sets, own, strict=True)
    ]
    ratios = [job.ratio for of in own for job in of if job.ratio is not None]
    return {
        "host": ", ".join(hosts),
        "jobs": sum(one.having for one in strata),
        "marked": sum(one.both for one in strata),
        "expected": expected(strata),
        "time_ratio": median(ratios) if ratios else None,
        "p_value": at_least(strata),
        "q_value": None,
        "least": least_possible(strata),
        "places": [job.where for of in own for job in of if job.marked],
        "run": None,
        "left_out": None,
    }


def _verdict(row: Row, tested: int) -> str:
    if row["q_value"] is not None and row["q_value"] < LEVEL:
        return "more often than chance"
    if row["least"] * max(tested, 1) > LEVEL:
        return "too few jobs"
    return "no more than chance"
