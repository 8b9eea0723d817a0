"""The tables of ranked configurations: days and speed of each, and the best of every model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from ..decide.budget import Budget
from ..project.short_names import ShortNames
from ..schema.warehouse import Row
from ..vocabulary.format import days, days_range, number, percent, significant
from .escape import Markdown, italic, markdown_cell
from .table_cells import (
    PipeColumn,
    marked,
    model_cell,
    nodes_cell,
    recompute_cell,
    several_models,
    source_cell,
    split_cell,
    system_cell,
    table_of,
)
from .words import step_time, text_of, with_mark


def days_table(names: ShortNames, rows: Sequence[Row], plan: Budget | None = None) -> Markdown:
    """Ranked runs: days, their range, the configuration, the speed and the source."""
    shown = _shown(rows)
    columns = [column for column in _columns(names, plan) if shown.get(column[0], True)]
    columns[2:2] = _own_budgets(rows, plan)  # behind the days and their range
    return table_of(columns, rows, merged=("DP/TP/PP", "MBS", "Source"))


def answers_table(names: ShortNames, rows: Sequence[Row], plan: Budget) -> Markdown:
    """The best of each model and system, a row each: the content of a sentence each."""
    best = [row for row in rows if row["place"] == 1]
    speed: PipeColumn = (
        "Tokens/s", "right",
        lambda r: f"**{significant(r['tokens_per_s'], 4)}**" if plan.is_unit
        else italic(significant(r["tokens_per_s"], 4)),
    )  # fmt: skip
    of = {column[0]: column for column in _columns(names, plan)}
    heads = ["Model", "System", _days_head(plan), "Nodes (devices)", "DP/TP/PP", "MBS", "MFU"]
    chosen = [of[head] for head in heads if _shown(best).get(head, True)]
    return table_of([*chosen[:2], speed, *chosen[2:], of["Source"]], best)


def _days_head(plan: Budget | None) -> str:
    return f"Days {plan.purpose}" if plan and plan.is_unit else "Days"


def _own_budgets(rows: Sequence[Row], plan: Budget | None) -> Iterator[PipeColumn]:
    """The days of each budget that is stated for a part of the rows alone."""
    if plan is None or not plan.is_unit:
        return
    for own in plan.others:
        if any(own in plan.of_document(row) and own.days(row) for row in rows):
            yield f"Days for {own.amount}", "right", partial(_own_days, plan, own)


def _own_days(plan: Budget, own: Budget, row: Row) -> str:
    return italic(marked(days(own.days(row)), row)) if own in plan.of_document(row) else ""


def _shown(rows: Sequence[Row]) -> Mapping[str, bool]:
    """The optional columns that distinguish rows."""
    return {
        "Model": several_models(rows),
        "GBS": len({row["gbs"] for row in rows}) > 1,
        "Seq len": len({row["seq_len"] for row in rows}) > 1,
        "Dtype": len({row["dtype"] for row in rows} - {None}) > 1,
        "Framework": len({row["framework"] for row in rows} - {None}) > 1,
        "ZeRO": len({row["zero_stage"] for row in rows} - {None}) > 1,
        "Recompute": any(row["recompute"] for row in rows),
        "n": any(row["n"] != 1 for row in rows),
    }


def _columns(names: ShortNames, plan: Budget | None) -> list[PipeColumn]:
    """All columns of a ranking for a configuration."""
    return [
        (_days_head(plan), "right", lambda r: italic(marked(days(r["days"]), r))),
        ("Range", "center", lambda r: "" if r["time_is_marked"] else italic(_days_range(r))),
        ("Model", "left", model_cell),
        ("System", "left", lambda r: system_cell(names, r)),
        ("Nodes (devices)", "right", nodes_cell),
        ("DP/TP/PP", "center", split_cell),
        ("MBS", "right", lambda r: with_mark(text_of(r["mbs"]), r, "mbs")),
        ("GBS", "right", lambda r: with_mark(text_of(r["gbs"]), r, "gbs")),
        ("Seq len", "right", lambda r: with_mark(number(r["seq_len"]), r, "seq_len")),
        ("Dtype", "left", lambda r: markdown_cell(r["dtype"])),
        ("Framework", "left", lambda r: markdown_cell(r["framework"])),
        ("ZeRO", "right", lambda r: text_of(r["zero_stage"])),
        ("Recompute", "left", recompute_cell),
        ("Settings", "left", lambda r: markdown_cell(r["settings"])),
        ("Regime", "left", lambda r: markdown_cell(r["regime"])),
        *_speed(),
        ("Source", "left", lambda r: source_cell(names, r)),
    ]


def _mfu(row: Row) -> str:
    """As printed, else as computed here, which is in italics."""
    text = percent(row["mfu"], 1)
    return markdown_cell(text) if row["mfu_from"] == "printed" else italic(text)


def _speed() -> list[PipeColumn]:
    """The speed of a configuration, and the number of measurements."""
    rate: PipeColumn = (
        "Tokens/s/device", "right", lambda r: italic(significant(r["tokens_per_s_per_device"], 4)),
    )  # fmt: skip
    return [
        ("Sec/it", "right", lambda r: marked(step_time(r), r)),
        ("n", "right", lambda r: number(r["n"])),
        ("Jobs", "right", lambda r: number(r["jobs"]) if r["jobs"] > 1 else ""),
        rate,
        ("MFU", "right", _mfu),
        ("Device-days", "right", lambda r: italic(significant(r["device_days"], 3))),
    ]


def _days_range(row: Row) -> str:
    return days_range(row["days_low"], row["days_high"], row["days"]).removesuffix(" days")
