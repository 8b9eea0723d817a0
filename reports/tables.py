"""The tables of pages: rows of a query as a markdown table, each a Jinja filter."""

from __future__ import annotations

from collections.abc import Sequence

from ..decide.budget import Budget, references
from ..project.short_names import ShortNames
from ..schema.warehouse import Row
from ..vocabulary.format import counted, percent, range_text, significant
from .escape import Markdown, italic, markdown_cell
from .table_cells import (
    PipeColumn,
    model_cell,
    nodes_cell,
    recompute_cell,
    several_models,
    split_cell,
    system_cell,
    table_of,
)
from .words import text_of, with_mark


def reference_days(plan: Budget, printed: Sequence[Row]) -> Markdown:
    """Days at a second a step; and printed days of documents, next to those by the budget."""
    found = references(plan, printed)
    days = ", ".join(
        f"{one.printed:g} at {one.step_time_s:g} s/it (line {one.line}"
        + (f" ⚠, computed *{one.days:,.2f}*)" if one.differs else ")")
        for one in found
        if one.printed is not None
    )
    a_second = next(one.days for one in found if one.step_time_s == 1)
    return Markdown(
        f"At 1 s/it: *{a_second:,.2f}* days." + (f" Printed days: {days}." if days else "")
    )


def log_table(names: ShortNames, rows: Sequence[Row]) -> Markdown:
    """Log runs and quoted log lines, with the window and n of each time."""
    return table_of(
        [
            ("Run", "left", lambda r: f"{markdown_cell(names.short(r['uri']))}:{r['line']}"),
            ("Format", "left", lambda r: markdown_cell(r["framework"]) or "-"),
            ("Nodes (devices)", "right", nodes_cell),
            ("DP/TP/PP", "center", split_cell),
            ("MBS", "right", lambda r: with_mark(text_of(r["mbs"]), r, "mbs")),
            ("GBS", "right", lambda r: with_mark(text_of(r["gbs"]), r, "gbs")),
            ("Status", "left", lambda r: r["status"]),
            ("Sec/it, median", "right", lambda r: significant(r["step_time_s"], 4)),
            (
                "min-max",
                "center",
                lambda r: (
                    range_text(r["step_time_low"], r["step_time_high"], "seconds")
                    if (r["lines"] or 0) > 1
                    else ""
                ),
            ),
            ("Iterations", "left", _window),
            ("TFLOPs, printed", "right", lambda r: significant(r["tflops"], 4)),
            (
                "Tokens/s/device",
                "right",
                lambda r: italic(significant(r["tokens_per_s_per_device"], 4)),
            ),
            ("Model TFLOP/s/process", "right", lambda r: italic(significant(r["model_tflops"], 3))),
        ],
        rows,
    )


def restated_table(names: ShortNames, rows: Sequence[Row]) -> Markdown:
    """TFLOP/s and share of the peak by one formula, next to the printed value and its formula."""
    columns: list[PipeColumn] = [
        ("Where", "left", lambda r: f"{markdown_cell(names.short(r['uri']))}:{r['line']}"),
        ("System", "left", lambda r: system_cell(names, r)),
        ("Nodes (devices)", "right", nodes_cell),
        ("DP/TP/PP", "center", split_cell),
        ("Recompute", "left", recompute_cell),
        ("TFLOPs, printed", "right", lambda r: significant(r["printed"], 4)),
        ("Printed by", "left", lambda r: markdown_cell(r["printed_by"])),
        ("Formula", "left", lambda r: r["formula"]),
        ("TFLOP/s/process", "right", _restated_value),
        ("MFU", "right", lambda r: "" if r["hardware"] else italic(percent(r["share"], 1))),
        ("HFU", "right", lambda r: italic(percent(r["share"], 1)) if r["hardware"] else ""),
        ("Not restated", "left", lambda r: markdown_cell(r["why"])),
    ]
    if several_models(rows):
        columns.insert(1, ("Model", "left", model_cell))
    return table_of(columns, rows)


def _restated_value(row: Row) -> str:
    mark = " ⚠" if row["left_out"] else ""
    return italic(significant(row["value"], 3)) + mark if row["value"] is not None else ""


def left_out_table(names: ShortNames, rows: Sequence[Row], suggestions: bool = False) -> Markdown:
    """The rows excluded from rankings and charts, with reasons; with suggestions on request."""
    meant: list[PipeColumn] = [("Suggestion", "left", lambda r: markdown_cell(r["suggestion"]))]
    return table_of(
        [
            ("Where", "left", lambda r: f"{markdown_cell(names.short(r['uri']))}:{r['line']}"),
            ("Why", "left", lambda r: markdown_cell(names.within(r["detail"]))),
            *(meant if suggestions else []),
        ],
        rows,
        merged=("Where",),
    )


def source_table(names: ShortNames, rows: Sequence[Row]) -> Markdown:
    """Every source of the page: name, path, rows used, lines, digest."""
    return table_of(
        [
            ("Name", "left", lambda r: markdown_cell(names.short(r["uri"]))),
            ("File", "left", lambda r: markdown_cell(r["uri"])),
            ("Title", "left", lambda r: markdown_cell(r["title"])),
            ("Runs used", "right", lambda r: f"{r['rows']} of {r['all_rows']}"),
            ("Lines", "right", lambda r: f"{r['first_line']}-{r['last_line']}"),
            ("SHA-256", "left", lambda r: r["sha256"]),
        ],
        rows,
    )


def _window(row: Row) -> str:
    if row["lines"] is None:
        return ""
    several = row["first_iteration"] != row["last_iteration"]
    span = (
        f"{row['first_iteration']}-{row['last_iteration']}"
        if several
        else str(row["first_iteration"])
    )
    return f"{span}, n = {row['n']} in {counted(row['lines'], 'line')}"
