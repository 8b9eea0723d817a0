"""Tables of runs: configuration, measurements and doubts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..decide.budget import Budget
from ..reports.words import step_time
from ..schema.warehouse import Row
from ..vocabulary.fields import fields
from ..vocabulary.format import days, number, percent, significant
from .labels import Labels
from .load import Content
from .table import BLANK, Cell, Column, Table

# Shown by default, where they differ; others can be selected by the reader.
SETTINGS = (
    "dp", "tp", "pp", "cp", "ep", "vpp", "mbs", "gbs", "grad_accum", "seq_len", "zero_stage",
    "recompute", "dtype", "sequence_parallel", "recipe", "layers", "hidden", "heads", "kv_heads",
    "experts", "moe_top_k",
)  # fmt: skip
_SHAPE = ("layers", "hidden", "heads", "kv_heads", "experts", "moe_top_k")
_FIRST = 50  # rows in the HTML of the table of all runs
_FEWEST = 2  # values that differ
_ASIDE = (
    "vocab_used", "framework", "settings", "ranks", "devices_per_node", "etp", "device_batch",
    "train_iters", "notes",
)  # fmt: skip
_TITLES = {
    "grad_accum": "Accum.",
    "recompute": "Recompute",
    "zero_stage": "ZeRO",
    "vocab_used": "Vocabulary",
    "settings": "Settings",
    "train_iters": "Planned steps",
    "notes": "Notes",
    "kv_heads": "KV heads",
    "moe_top_k": "Top-k",
}
KEEP = ("run", "status", "step_time_s", "tokens_per_s_per_device", "days")
# The results that answer first, before the settings, which may be twenty columns.
_ANSWERS = ("step_time_s", "tokens_per_s_per_device", "mfu", "days")
_WHERE = ("system", "nodes", "device_count")
_FINE = ("ok", "ended", "running", "not_run")


def look_of(row: Row) -> str:
    """The style class of a run: copied, left out, estimated, failed."""
    if row["left_out"] == "copy":
        return "copied"
    if row["left_out"] or row["kind"] != "measured":
        return "left-out"
    if row["time_is_marked"]:
        return "estimated"
    return "" if row["status"] in _FINE else "failed"


def run_cell(labels: Labels, row: Row) -> Cell:
    """The name of a run, linked to its page."""
    return Cell(labels.place(row), href=labels.href(row["run"]))


def model_cell(content: Content, row: Row) -> Cell:
    """The model of a run, linked to its page; blank if none is stated."""
    name = content.text.line(row["size"] or row["model"] or "", 40)
    return Cell(name, href=content.model_href(row)) if name else BLANK


def status_cell(row: Row) -> Cell:
    """The status of a run, or that its row is left out."""
    status = str(row["status"] or "")
    return Cell(status, status.replace("_", " "))


@dataclass(frozen=True, slots=True)
class _Measured:
    """A number of runs: heading, formatter; its value if it is not a column of runs; whether it is
    computed."""

    key: str
    title: str
    text: Callable[[Row], str]
    unit: str = ""
    value: Callable[[Row], Any] | None = None
    computed: Callable[[Row], bool] = lambda row: True

    def column(self, rows: Sequence[Row]) -> Column:
        """The table column of these runs."""
        return Column(self.key, self.title, [self._cell(row) for row in rows], "number", self.unit)

    def _cell(self, row: Row) -> Cell:
        found = self.value(row) if self.value else row[self.key]
        look = "computed" if self.computed(row) else "estimated" if row["time_is_marked"] else ""
        return BLANK if found is None else Cell(found, self.text(row), look=look)


def is_printed(row: Row, key: str) -> bool:
    """Whether a source prints this number of a run; of a log it is the median of many."""
    if row["basis"] == "log":
        return False
    if key == "mfu":
        return bool(row["mfu_from"] == "printed")
    return key == "step_time_s" or bool(row["rate_from"] == key)


def rate_words(rate: float, printed: bool) -> str:
    """A rate with all its printed digits; a computed one with four."""
    return number(rate) if printed else significant(rate, 4)


def share_words(share: float, printed: bool) -> str:
    """A share as percentage with all its printed digits; a computed one with one decimal."""
    return f"{number(float(f'{100 * share:.9g}'))}%" if printed else percent(share, 1)


def _rate(key: str, title: str) -> _Measured:
    return _Measured(
        key, title, lambda row: rate_words(row[key], is_printed(row, key)),
        computed=lambda row: not is_printed(row, key),
    )  # fmt: skip


_MEASURED = (
    _Measured("step_time_s", "Step", lambda row: step_words(row), "s",
              computed=lambda row: not is_printed(row, "step_time_s")),
    _rate("tokens_per_s", "Tokens/s"),
    _rate("tokens_per_s_per_device", "Tokens/s/device"),
    _Measured("tflops", "TFLOP/s printed", lambda row: number(row["tflops"]),
              computed=lambda row: row["basis"] == "log"),
    _Measured("model_tflops", "Model TFLOP/s",
              lambda row: significant(row["model_tflops"], 3), "a process"),
    _Measured("aggregate_pflops", "Aggregate",
              lambda row: significant(row["aggregate_pflops"], 3), "PFLOP/s"),
    _Measured("mfu", "MFU",
              lambda row: share_words(row["mfu"], is_printed(row, "mfu")).removesuffix("%"), "%",
              lambda row: None if row["mfu"] is None else 100 * row["mfu"],
              lambda row: not is_printed(row, "mfu")),
    _Measured("memory", "Memory",
              lambda row: f"{number(row['memory'])} {row['memory_unit'] or ''}".strip(), "",
              lambda row: row["memory_gb"] if row["memory_gb"] is not None else row["memory"],
              lambda row: False),
)  # fmt: skip


def step_column(rows: Sequence[Row]) -> Column:
    """The step times of runs."""
    return _MEASURED[0].column(rows)


def measured_columns(rows: Sequence[Row], plan: Budget) -> list[Column]:
    """The number columns of runs with significant digits; days of a plan last."""
    unit = plan.purpose if plan.is_unit else f"for {plan.amount}"
    planned = _Measured("days", "Days", lambda row: days(plan.days(row)), unit, plan.days)
    return [one.column(rows) for one in (*_MEASURED, planned)]


def step_words(row: Row) -> str:
    """The step time, marked if it is an estimate."""
    return step_time(row) + ("^" if row["time_is_marked"] else "")


def setting_columns(content: Content, rows: Sequence[Row]) -> list[Column]:
    """The configuration of runs."""
    line = content.text.line

    def whole(key: str, title: str, hidden: bool = False, wide: bool = False) -> Column:
        is_number = all(
            isinstance(row[key], (int, float, type(None))) and not isinstance(row[key], bool)
            for row in rows
        )
        cells = [
            BLANK
            if row[key] is None
            else Cell(row[key], number(row[key]))
            if is_number
            else Cell(line(_word(row[key]), 120))
            for row in rows
        ]
        return Column(
            key, title, cells, "number" if is_number else "text", hidden=hidden, wide=wide
        )

    known = fields()
    titles = {name: known[name].title or name for name in known} | _TITLES
    systems = [Cell(line(content.names.system(row["system"]), 80), look="clip") for row in rows]
    # Most rows of a model do not state its shape, which tells them apart only if it differs.
    alike = [name for name in _SHAPE if len({row[name] for row in rows} - {None}) < _FEWEST]
    dates = [Cell(f"{at:%Y-%m-%d}") if (at := content.at(row)) else BLANK for row in rows]
    return [
        Column("system", "System", systems),
        whole("nodes", "Nodes"),
        whole("device_count", "Devices"),
        *(whole(name, titles.get(name, name), name in alike) for name in SETTINGS),
        Column("ran", "Ran", dates, hidden=True),
        *(
            whole(name, titles.get(name, name), True, name in ("settings", "notes"))
            for name in _ASIDE
        ),
    ]


def _word(value: object) -> str:
    return (
        {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    )


def every_run(content: Content) -> Table:
    """All runs in one table, the newest first, to find and tick them."""
    dated = [(at.isoformat() if (at := content.at(row)) else "", row) for row in content.rows]
    rows = [row for _, row in sorted(dated, key=lambda one: one[0], reverse=True)]
    settings = {column.key: column for column in setting_columns(content, rows)}
    results = {column.key: column for column in measured_columns(rows, content.budget_of(rows))}
    columns = [
        Column("run", "Run", [run_cell(content, row) for row in rows]),
        Column("model", "Model", [model_cell(content, row) for row in rows]),
        settings["system"], settings["device_count"],
        *(results[name] for name in ("step_time_s", "tokens_per_s_per_device", "mfu")),
        *(settings[name] for name in ("dp", "tp", "pp", "mbs", "gbs", "seq_len")),
        Column("status", "Status", [status_cell(row) for row in rows], "status"),
        replace(settings["ran"], hidden=False),
    ]  # fmt: skip
    ids = [content.id(row["run"]) if row["run"] in content.with_pages else "" for row in rows]
    shown = [column for column in columns if not column.is_empty]
    looks = [look_of(row) for row in rows]
    return Table("every", "All runs", shown, ids, looks, key="every", first=_FIRST)


def run_table(
    content: Content,
    id: str,
    rows: Sequence[Row],
    plan: Budget,
    *,
    label: str,
    key: str = "",
) -> tuple[list[tuple[str, str]], Table]:
    """The values shared by all runs, and the table of the others."""
    from .table import apart

    reasons = [
        Cell(content.text.line(content.names.within(row["left_out_detail"] or ""), 200)) or BLANK
        for row in rows
    ]
    settings, results = setting_columns(content, rows), measured_columns(rows, plan)
    columns = [
        Column("run", "Run", [run_cell(content, row) for row in rows]),
        *(setting for setting in settings if setting.key in _WHERE),
        *(result for result in results if result.key in _ANSWERS),
        *(setting for setting in settings if setting.key not in _WHERE),
        *(result for result in results if result.key not in _ANSWERS),
        Column("status", "Status", [status_cell(row) for row in rows], "status"),
        Column("left_out", "Why it does not count", reasons, hidden=True, wide=True),
    ]
    alike, shown = apart(columns, KEEP)
    ids = [content.id(row["run"]) if row["run"] in content.with_pages else "" for row in rows]
    looks = [look_of(row) for row in rows]
    return alike, Table(id, label, shown, ids, looks, key)
