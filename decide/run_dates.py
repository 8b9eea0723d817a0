"""When runs ran and on which hosts: by their log, the accounting of their job, their path, git.

Not when they were read: a folder of old logs that is ingested today ran long ago.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.resources import files
from typing import Any

from ..project.git import added
from ..schema.warehouse import Warehouse
from ..vocabulary.hosts import hosts
from ..vocabulary.job_variables import naming

_PATH = re.compile(
    r"(?<!\d)(20\d\d)([-_.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])"
    r"(?:[-_T. ]?([01]\d|2[0-3])[-_:.h]?([0-5]\d)(?:[-_:.m]?([0-5]\d))?)?(?!\d)"
)
_FORMS = ("%a %b %d %H:%M:%S %Z %Y", "%a %b %d %H:%M:%S %Y", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d")


@dataclass(frozen=True, slots=True)
class RunDates:
    """When a run began and ended, as printed, without time zone, and the source; its hosts."""

    began: datetime | None = None
    ended: datetime | None = None
    known_from: str | None = None  # log, accounting, table, path, git
    hosts: tuple[str, ...] = ()
    job_ids: tuple[str, ...] = ()

    @property
    def at(self) -> datetime | None:
        """The best single time: the end, else the beginning."""
        return self.ended or self.began


def ran(warehouse: Warehouse) -> dict[str, RunDates]:
    """When and where each run of the temporary table `selected` ran, by run id."""
    query = (files(__package__ or "bench.decide") / "run_dates.sql").read_text("utf-8")
    found: dict[str, RunDates] = {}
    undated: dict[str, str] = {}
    for row in warehouse.dicts(query, {"flags": list(naming("hosts"))}):
        one = replace(_dated(row), hosts=_hosts(row["hosts"] or ()), job_ids=tuple(row["job_ids"]))
        found[row["run_id"]] = one
        if one.at is None:
            undated[row["run_id"]] = row["uri"]
    if undated:
        # The date of the commit that added a file is later than its run, but better than nothing.
        root = warehouse.home
        times = added(root, sorted(set(undated.values())))
        for run, uri in undated.items():
            if uri in times:
                found[run] = replace(found[run], ended=times[uri], known_from="git")
    return found


def _hosts(lists: Iterable[str]) -> tuple[str, ...]:
    """Each host of some lists once: n3.cluster beside n3 is the same machine."""
    names = {name for text in lists for name in hosts(text)}
    return tuple(sorted(name for name in names if name.partition(".")[0] not in names - {name}))


def _dated(row: Mapping[str, Any]) -> RunDates:
    stated = read_date(row["date"])
    began, ended = row["began"] or stated, row["ended"]
    if row["job_ended"]:  # the job ends behind the last line that bears a time
        return RunDates(row["job_began"] or began, row["job_ended"], "accounting")
    if began or ended:
        known_from = "log" if row["origin"] == "log" else "table"
        return RunDates(min(filter(None, (began, stated)), default=None), ended, known_from)
    if at := _of_path(row["uri"]):
        return RunDates(at, None, "path")
    return RunDates()


def read_date(text: str | None) -> datetime | None:
    """A date as logs and tables print it; None for one without a year, such as 02-15."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        pass
    for form in _FORMS:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=None)
        except ValueError:
            continue
    return None


def _of_path(uri: str) -> datetime | None:
    """The date in the name of a file, else of its innermost folder that has one."""
    every = [*_PATH.finditer(uri)]
    for found in reversed(every):
        year, month, day, hour, minute, second = (int(found[n] or 0) for n in (1, 3, 4, 5, 6, 7))
        try:
            return datetime(year, month, day, hour, minute, second)
        except ValueError:  # the 31st of February
            continue
    return None
