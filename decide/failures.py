"""Which runs failed, when they ran, why, on which hosts, and which causes come back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from typing import Any

from ..schema.warehouse import Row, Warehouse
from .query import Query
from .rows import Decision
from .run_dates import RunDates, ran
from .selection import select

FAILED = ("oom", "hang", "nan", "fail", "timeout", "cancelled")
# Columns that distinguish runs with one ending.
_CONFIGURED = ("size", "model", "nodes", "device_count", "dp", "tp", "pp", "cp", "mbs", "gbs")
# Two rows that state another of these are no copies; one of them alone is no sign of one.
_OTHER_SETTINGS = ("device", "dtype", "seq_len", "zero_stage", "recompute")
_FINE = ("ok", "not_run")
# What differs between two prints of one cause: numbers, addresses, places, the job.
_PLACE = re.compile(r"^job \S+: |\(\S+:\d+\)|0x[0-9a-fA-F]+|(?:/[\w.@+=-]+){2,}|[\w./-]+:\d+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MEMORY = re.compile(r"[~<>≈]?\s*\d+(?:\.\d+)?\s*[GMT]i?B\b")  # at the beginning of a cell


def failures(warehouse: Warehouse, query: Query) -> Decision:
    """The failed runs of a query, the latest first; `since` counts from when they ran.

    Runs without a date are left out if `since` is set.
    """
    since, chosen = query.since, replace(query, since=None)
    select(warehouse, chosen)
    text = (files(__package__ or "bench.decide") / "failures.sql").read_text("utf-8")
    narrowed = (query.model, query.where, query.document) != (None, None, None)
    rows = warehouse.dicts(text, {"all_jobs": not narrowed})
    times = ran(warehouse)
    every: list[Row] = [_timed(row, times.get(row["run"], RunDates())) for row in rows]
    every, copies = _without_copies(every)
    dated = [row for row in every if since is None or (row["at"] and row["at"] >= since)]
    broken = sorted((row for row in dated if row["status"] in FAILED), key=_latest_first)
    counted = _recurring(broken)
    undated = [row for row in every if row["status"] in FAILED and row["at"] is None]
    left: list[Row] = [{**row, "left_out": "no date is known"} for row in undated] if since else []
    left += copies
    facts: dict[str, Any] = {
        "since": since,
        "runs": len(dated),
        "statuses": Counter(row["status"] for row in counted).most_common(),
        "causes": _causes(counted),
        "suspects": _suspects(counted),
        "unclear": sum(row["status"] not in (*FAILED, *_FINE) for row in dated),
        "dates": Counter(row["known_from"] for row in counted if row["known_from"]).most_common(),
        "undated": sum(row["at"] is None for row in counted),
        "copies": len(copies),
    }
    return Decision("failures", tuple(counted), tuple(left), facts)


def _without_copies(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows without failures that another source repeats, and those, each with its original.

    A log and its excerpt end in the same second by the same line; a copied row of a table has the
    same cause and configuration. A source alone repeats nothing: two rows of it are two runs.
    """
    first: dict[tuple[Any, ...], list[Row]] = {}
    kept: list[Row] = []
    copies: list[Row] = []
    seen: Counter[tuple[str, tuple[Any, ...]]] = Counter()
    for row in rows:
        key = _identity(row) if row["status"] in FAILED else None
        if key is None:
            kept.append(row)
            continue
        at = seen[row["uri"], key]
        seen[row["uri"], key] += 1
        same = first.setdefault(key, [])
        if at < len(same) and same[at]["uri"] != row["uri"]:
            copies.append({**row, "left_out": f"copy of {same[at]['where']}"})
        else:
            same.append(row)
            kept.append(row)
    return kept, copies


def _identity(row: Row) -> tuple[Any, ...] | None:
    """Equal for two readings of one failed run; None where nothing shows that it is one."""
    stated = tuple(row[name] for name in _CONFIGURED)
    reason = " ".join((row["reason"] or "").split())
    if row["origin"] == "log":
        times = (row["began"], row["ended"])
        return (row["status"], reason, times, stated) if row["known_from"] == "log" else None
    known = sum(value is not None for value in stated)
    other = tuple(row[name] for name in _OTHER_SETTINGS)
    return (row["status"], reason, stated, other) if row["origin"] == "row" and known > 3 else None


def cause(status: str, reason: str | None) -> str | None:
    """Equal for failures of one cause, whatever numbers and places are in their lines; None if
    only the status is stated."""
    text = " ".join(_NUMBER.sub("0", _PLACE.sub("", reason or "")).split()).casefold()
    return f"{status}: {text[:200]}" if text not in ("", status) else None


def _timed(row: Row, run: RunDates) -> dict[str, Any]:
    began, ended = row["job_began"] or run.began, row["job_ended"] or run.ended
    known = "accounting" if row["job_ended"] or row["job_began"] else run.known_from
    reason = row["reason"]
    if row["origin"] == "row" and row["status"] == "oom" and _MEMORY.match(reason or ""):
        reason = "out of memory"  # `58.8 GB (OOM on rank 0)` is what it used, and no cause
    return {
        **row,
        "reason": reason,
        "at": ended or began,
        "began": began,
        "ended": ended,
        "known_from": known,
        "hosts": list(run.hosts),
        "job_ids": [row["job_id"]] if row["job_id"] else list(run.job_ids),
        "where": f"{row['uri']}:{row['line']}",
        # The bare state of a scheduler is no cause.
        "cause": cause(row["status"], reason) if row["run"] or row["why"] else None,
        "left_out": None,
    }


def _latest_first(row: Row) -> tuple[bool, float, str, int]:
    at: datetime | None = row["at"]
    # No time zone is printed: all are read alike, which is enough for an order.
    since = (at - datetime(1970, 1, 1)).total_seconds() if at else 0.0
    return at is None, -since, row["uri"], row["line"]


def _recurring(rows: Sequence[Row]) -> list[Row]:
    """The rows, each with how many runs its cause ended."""
    counts = Counter(row["cause"] for row in rows)
    return [{**row, "recurs": counts[row["cause"]] if row["cause"] else 1} for row in rows]


def _causes(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The causes that ended more than one run, the commonest first, with when and where."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["cause"]:
            groups.setdefault(row["cause"], []).append(row)
    found = [
        {
            "rows": of,
            "first": min((row["at"] for row in of if row["at"]), default=None),
            "last": max((row["at"] for row in of if row["at"]), default=None),
            "hosts": _shared_hosts(of),
        }
        for of in groups.values()
        if len(of) > 1
    ]
    return sorted(found, key=lambda group: -len(group["rows"]))


def _shared_hosts(rows: Sequence[Row]) -> list[str]:
    """The hosts that were in every one of these runs, if each names its hosts."""
    named = [set(row["hosts"]) for row in rows]
    return sorted(set.intersection(*named)) if all(named) else []


def _suspects(rows: Sequence[Row]) -> list[Mapping[str, Any]]:
    """The hosts that were in three failed runs or more, the commonest first."""
    counts = Counter(host for row in rows for host in row["hosts"])
    return [{"host": host, "runs": n} for host, n in counts.most_common(5) if n > 2]
