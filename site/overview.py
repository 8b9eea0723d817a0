"""The start page: counts, best and newest runs, failures, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..decide.budget import Budget
from ..decide.failures import FAILED
from ..decide.ranking import ranking
from ..decide.rows import lacks_device_count
from ..reports.words import topology_short
from ..schema.warehouse import Row
from ..vocabulary.format import counted, days_words, number, significant
from .load import NOT_STATED, Content, model_of
from .model_charts import Drawer
from .models import finding_words
from .run_table import (
    is_printed,
    model_cell,
    rate_words,
    run_cell,
    share_words,
    status_cell,
    step_column,
    step_words,
)
from .table import Cell, Column, Table

_BEST, _NEWEST, _CAUSES, _FINDINGS = 100, 15, 8, 6
_OF_DEVICES = ("mfu", "tokens_per_s_per_device")
_LINKED, _LISTED = 4, 500  # runs named for a cause, and those that unfold


def _title(content: Content) -> str:
    """The title of the chart of all runs: most logs state too little for an aggregate."""
    able = sum(bool(row["aggregate_pflops"] and row["device_count"] and row["origin"] != "quote")
               for row in content.rows)  # fmt: skip
    every = len(content.rows)
    if able == every:
        return "Aggregate model PFLOP/s of all runs"
    return f"Aggregate model PFLOP/s of the {able:,} of {every:,} runs that state enough for it"


def _measured(content: Content) -> str:
    """How many of the runs ran, as the page of failures counts them; empty if all did."""
    every = len(content.rows)
    plans = sum(row["kind"] == "planned" for row in content.rows)
    quotes = sum(row["origin"] == "quote" and row["kind"] != "planned" for row in content.rows)
    aside = [
        counted(number_of, noun)
        for number_of, noun in ((plans, "plan"), (quotes, "quoted line"))
        if number_of
    ]
    if not aside:
        return ""
    return f"Of these {every:,} runs {every - plans - quotes:,} are measured; {' and '.join(aside)}"


def overview(
    content: Content, changes: Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[Table]]:
    """The template context, and the tables with data files."""
    best = best_table(content)
    open_findings = [finding for finding in content.findings if not finding["closed"]]
    severities = Counter(open_finding["severity"] for open_finding in open_findings)
    broken = [row for row in content.failures.rows if row["status"] in FAILED]
    chart = Drawer(content, content.rows, "").runs(
        "all",
        _title(content),
        "device_count",
        "Devices",
        "aggregate_pflops",
        "model PFLOP/s of the job",
        significant,
    )
    doubted = [
        open_finding for open_finding in open_findings if open_finding["severity"] == "error"
    ] or open_findings
    alike = Counter((one["rule"], one["title"]) for one in doubted)
    first = {(one["rule"], one["title"]): one for one in reversed(doubted)}  # one of each kind
    page = {
        "title": "Overview",
        "best": best.html(""),
        "best_rows": best.rows,
        "chart": chart.html if chart else "",
        "tiles": [
            (len(content.rows), "runs", "compare.html#every-run"),
            (len(content.models), "models", "#models"),
            (len(content.sources), "sources", "sources.html"),
            (len(broken), "failed", "failures.html"),
            (severities["error"], "errors found", "findings.html"),
        ],
        "last": max((source["loaded_at"] for source in content.sources.values()), default=None),
        "measured": _measured(content),
        "newest": newest_table(content).html(""),
        "causes": causes(content)[:_CAUSES],
        "statuses": Counter(one["status"] for one in broken).most_common(),
        "severities": severities,
        "findings": [
            {**finding_words(content, first[kind]), "others": count - 1}
            for kind, count in alike.most_common(_FINDINGS)
        ],
        "changes": changes,
        "models": [
            (f"models/{content.model_slugs[name]}.html", name, len(rows))
            for name, rows in content.models.items()
        ],
    }
    return page, [best]


@dataclass(frozen=True, slots=True)
class _Best:
    """The fastest run of a model on a system: the ranked row, and the stored row."""

    ranked: Row
    plan: Budget
    row: Row

    @property
    def place(self) -> tuple[float, str, float]:
        """Sort key: the largest model first, then the fastest run."""
        params = self.row["params_stated"] or self.row["params_computed"] or 0
        size_b = self.row["params_b"] or params / 1e9
        return -size_b, str(self.ranked["size"]), -self.ranked["tokens_per_s"]


def best_table(content: Content) -> Table:
    """The fastest run by model and system, the largest model first."""
    found = sorted(_fastest(content), key=lambda one: one.place)
    rows = [one.row for one in found]
    columns = [
        *_names(content, found), *_results(found), *_setup(found),
        Column("run", "Run", [replace(run_cell(content, row), look="clip") for row in rows]),
    ]  # fmt: skip
    runs = [content.id(row["run"]) if row["run"] in content.with_pages else "" for row in rows]
    shown = [column for column in columns if not column.is_empty]
    return Table("best", "Best of each model and system", shown, runs, key="best", first=_BEST)


def leading(content: Content, runs: Collection[str]) -> dict[str, str]:
    """Of these runs the fastest of a model and system, with the names of these."""
    models = {model_of(content.by_id[run]) for run in runs}
    system = content.names.system
    return {
        one.row["run"]: content.text.line(
            f"{one.ranked['size'] or one.ranked['model']} on {system(one.ranked['system'])}", 80
        )
        for one in _fastest(content, [name for name in content.models if name in models])
        if one.row["run"] in runs
    }


def _fastest(content: Content, names: Iterable[str] | None = None) -> Iterator[_Best]:
    for name in content.models if names is None else names:
        if name == NOT_STATED:
            continue  # they may be runs of any models: none is the fastest of them
        rows = content.models[name]
        plan = content.plans_of_models[name]
        for one in ranking(rows, plan, 1):
            yield _Best(one, plan, content.by_id[one["run_id"]])


def _names(content: Content, found: Sequence[_Best]) -> list[Column]:
    """The model and system of each row."""
    line, system = content.text.line, content.names.system
    models = [
        Cell(
            line(one.ranked["size"] or one.ranked["model"] or "not stated", 40),
            href=content.model_href(one.row),
        )
        for one in found
    ]
    systems = [Cell(line(system(one.ranked["system"]), 48), look="clip") for one in found]
    return [Column("model", "Model", models), Column("system", "System", systems)]


def _setup(found: Sequence[_Best]) -> list[Column]:
    """What each row ran on, after its results: a phone shows the first columns alone."""
    devices = [
        Cell()
        if lacks_device_count(one.row)  # one a node is a guess, which answers call one
        else _number(
            one.row,
            "device_count",
            lambda row: number(row["device_count"]),
            printed=one.row["devices"] is not None,
        )
        for one in found
    ]
    times = [
        _number(one.ranked, "step_time_s", step_words, _printed(one, "step_time_s"))
        for one in found
    ]
    return [
        Column("devices", "Devices", devices, "number"),
        Column("split", "DP/TP/PP", [Cell(topology_short(one.ranked)) for one in found]),
        Column("step_time_s", "Step, s", times, "number"),
    ]


def _results(found: Sequence[_Best]) -> list[Column]:
    """Measurements and days of the plan, with a column of tokens if plans differ."""
    amounts = [one.plan.amount for one in found]
    same = len(set(amounts)) == 1
    shown: list[tuple[str, str, Callable[[Row, bool], str]]] = [
        ("days", f"Days {found[0].plan.purpose}" if same else "Days",
         lambda row, _: days_words(row["days"]).removesuffix(" days")),
        ("mfu", "MFU", lambda row, printed: share_words(row["mfu"], printed)),
        ("tokens_per_s_per_device", "Tokens/s/device",
         lambda row, printed: rate_words(row["tokens_per_s_per_device"], printed)),
    ]  # fmt: skip

    def cell(one: _Best, key: str, text: Callable[[Row, bool], str]) -> Cell:
        printed = _printed(one, key)
        if key in _OF_DEVICES and not printed and lacks_device_count(one.row):
            return Cell()
        return _number(one.ranked, key, lambda row: text(row, printed), printed)

    columns = [
        Column(key, title, [cell(one, key, text) for one in found], "number")
        for key, title, text in shown
    ]
    tokens = [Cell() if same else Cell(amount.removesuffix(" tokens")) for amount in amounts]
    return [columns[0], Column("for", "for tokens", tokens), *columns[1:]]


def _printed(one: _Best, key: str) -> bool:
    """Whether a number stands in the source; of several jobs it is their median."""
    return one.ranked["jobs"] == 1 and is_printed(one.row, key)


def _number(row: Row, key: str, text: Callable[[Row], str], printed: bool) -> Cell:
    look = "" if printed else "computed"
    return Cell() if row[key] is None else Cell(row[key], text(row), look=look)


def newest_table(content: Content) -> Table:
    """The newest runs with a known date."""
    dated = [(at, row) for row in content.rows if (at := content.at(row)) is not None]
    dated.sort(key=lambda one: (one[0], one[1]["uri"], one[1]["line"]), reverse=True)
    rows = [row for _, row in dated[:_NEWEST]]
    ids = [content.id(row["run"]) if row["run"] in content.with_pages else "" for row in rows]
    return Table(
        "newest",
        "Newest runs",
        [
            Column("run", "Run", [run_cell(content, row) for row in rows]),
            Column("ran", "Ran", [Cell(f"{at:%Y-%m-%d}") for at, _ in dated[:_NEWEST]]),
            Column("model", "Model", [model_cell(content, row) for row in rows]),
            Column(
                "devices",
                "Devices",
                [Cell(row["device_count"], number(row["device_count"])) for row in rows],
                "number",
            ),
            step_column(rows),
            Column("status", "Status", [status_cell(row) for row in rows], "status"),
        ],
        ids,
    )


def causes(content: Content) -> list[dict[str, Any]]:
    """Causes of failures with their runs, the most frequent first."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for one in content.failures.rows:
        groups.setdefault(one["cause"] or f"{one['status']}, no reason stated", []).append(one)
    made = []
    for rows in sorted(groups.values(), key=lambda of: -len(of)):
        first = rows[0]
        runs = [content.by_id[row["run"]] for row in rows if row["run"] in content.by_id]
        places = [_failed_at(content, row) for row in rows]
        made.append(
            {
                "count": len(rows),
                "status": first["status"],
                "reason": content.names.within(first["reason"] or "")
                if first["cause"]
                else "no message stated"
                if runs
                else "no reason stated by the scheduler, and no log",
                "href": content.line_href(first["uri"], first["line"]) if first["cause"] else None,
                "runs": places[:_LINKED],
                "more": max(len(places) - _LINKED, 0),
                "rest": places[_LINKED:_LISTED],
            }
        )
    return made


def _failed_at(content: Content, failed: Mapping[str, Any]) -> tuple[str | None, str]:
    """The link and name of a failed run; of a job without a log its line in the accounting."""
    if row := content.by_id.get(failed["run"]):
        return content.href(row["run"]), content.place(row)
    uri, line = failed["uri"], failed["line"]
    return content.line_href(uri, line), content.text.line(content.names.at(uri, line), 120)
