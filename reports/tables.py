"""The tables of pages: rows of a query to a markdown table, each a Jinja filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..decide.budget import Budget, references
from ..vocabulary.format import days, number, params, percent, range_text, significant
from .escape import Markdown, italic, markdown_cell, pipe_table
from .short import Names
from .words import DEVICE, MODEL, SHAPE, SIZE, SPLIT, step_time, text_of, topology_short, with_mark

Row = Mapping[str, Any]


def days_table(names: Names, rows: Sequence[Row], plan: Budget | None = None) -> Markdown:
    """Ranked runs: days, their range, the configuration, the speed and the source."""
    several = _several(rows)
    batches = len({row["gbs"] for row in rows}) > 1
    columns: list[tuple[str, str, Callable[[Row], str]]] = [
        (
            f"Days {plan.purpose}" if plan and plan.is_unit else "Days",
            "right",
            lambda r: italic(_marked(days(r["days"]), r)),
        ),
        ("Range", "center", lambda r: "" if r["time_is_marked"] else italic(_days_range(r))),
        ("System", "left", lambda r: _system(names, r)),
        ("Nodes (devices)", "right", _nodes),
        ("DP/TP/PP", "center", _split),
        ("MBS", "right", lambda r: with_mark(text_of(r["mbs"]), r, "mbs")),
        ("GBS", "right", lambda r: with_mark(text_of(r["gbs"]), r, "gbs")),
        ("ZeRO", "right", lambda r: text_of(r["zero_stage"])),
        ("Recompute", "left", _recompute),
        ("Settings", "left", lambda r: markdown_cell(r["settings"])),
        ("Regime", "left", lambda r: markdown_cell(r["epoch"])),
        ("Sec/it", "right", lambda r: _marked(step_time(r), r)),
        ("n", "right", lambda r: number(r["n"])),
        ("Jobs", "right", lambda r: number(r["jobs"]) if r["jobs"] > 1 else ""),
        (
            "Tokens/s/device",
            "right",
            lambda r: italic(significant(r["tokens_per_s_per_device"], 4)),
        ),
        ("MFU", "right", lambda r: italic(percent(r["mfu"], 1))),
        ("Device-days", "right", lambda r: italic(significant(r["device_days"], 3))),
        ("Source", "left", lambda r: _source(names, r)),
    ]
    if several:
        columns.insert(2, ("Model", "left", _model))
    dropped = {"GBS"} if not batches else set()
    stages = {row["zero_stage"] for row in rows} - {None}
    dropped |= {"ZeRO"} if len(stages) < 2 else set()
    dropped |= {"Settings"} if not any(row["settings"] for row in rows) else set()
    dropped |= {"Regime"} if not any(row["epoch"] for row in rows) else set()
    dropped |= {"n"} if all(row["n"] == 1 for row in rows) else set()
    dropped |= {"Jobs"} if all(row["jobs"] == 1 for row in rows) else set()
    dropped |= {"MFU"} if all(row["mfu"] is None for row in rows) else set()
    kept = [column for column in columns if column[0] not in dropped]
    return _table(kept, rows, merged=("DP/TP/PP", "MBS", "Source"))


def shape_table(names: Names, rows: Sequence[Row], lines: Sequence[Row]) -> Markdown:
    """Model shape, batch and parameters of each source, with the lines that state them."""
    stated: dict[tuple[str, str], list[int]] = {}
    for line in lines:
        stated.setdefault((line["uri"], line["field"]), []).append(line["line"])

    def of(row: Row, *fields: str) -> str:
        found = sorted({line for field in fields for line in stated.get((row["uri"], field), [])})
        return f" ({_lines(found)})" if found else ""

    def systems(row: Row) -> str:
        listed = ", ".join(markdown_cell(names.system(name)) for name in row["systems"])
        return with_mark(listed, row, *DEVICE)

    def shape(row: Row) -> str:
        if row["layers"] is None and row["hidden"] is None:
            return "not stated"
        heads = ", ".join(map(str, row["heads"] or ["?"]))
        text = f"{text_of(row['layers']) or '?'} / {text_of(row['hidden']) or '?'} / {heads}"
        return with_mark(text, row, *SHAPE) + of(row, "layers", "hidden", "heads")

    def parameters(row: Row) -> str:
        if row["params_computed"] is None and row["params_stated"] is not None:
            return f"{params(row['params_stated'])} stated"
        if row["params_computed"] is None:
            return f"label {markdown_cell(row['label'])}" if row["label"] else "not stated"
        assumed = f"; V = {number(int(row['vocab_used']))} assumed" if row["vocab_assumed"] else ""
        without = params(row["params_without_embedding"])
        return f"*{params(row['params_computed'])}* (*{without}* without embeddings{assumed})"

    return _table(
        [
            ("Source", "left", lambda r: markdown_cell(names.short(r["uri"]))),
            *([("Model", "left", _model)] if _several(rows) else []),
            ("System", "left", systems),
            ("Layers / hidden / heads", "left", shape),
            (
                "Seq len",
                "left",
                lambda r: (
                    (with_mark(number(r["seq_len"]), r, "seq_len") or "not stated")
                    + of(r, "seq_len")
                ),
            ),
            (
                "GBS",
                "left",
                lambda r: (
                    (with_mark(", ".join(map(str, r["gbs"] or [])), r, "gbs") or "not stated")
                    + of(r, "gbs")
                ),
            ),
            (
                "Tokens/it",
                "right",
                lambda r: italic(", ".join(map(number, r["tokens_per_step"] or []))),
            ),
            ("Parameters", "left", parameters),
        ],
        rows,
    )


def reference_days(plan: Budget, printed: Sequence[Row]) -> Markdown:
    """Days at a second a step; and those that documents print, beside what the budget gives."""
    found = references(plan, printed)
    told = ", ".join(
        f"{one.printed:g} at {one.step_time_s:g} s/it (line {one.line}"
        + (f" ⚠, computed *{one.days:,.2f}*)" if one.differs else ")")
        for one in found
        if one.printed is not None
    )
    a_second = next(one.days for one in found if one.step_time_s == 1)
    return Markdown(
        f"At 1 s/it: *{a_second:,.2f}* days." + (f" Printed days: {told}." if told else "")
    )


def log_table(names: Names, rows: Sequence[Row]) -> Markdown:
    """Log runs and quoted log lines, with the window and n of each time."""
    return _table(
        [
            ("Run", "left", lambda r: f"{markdown_cell(names.short(r['uri']))}:{r['line']}"),
            ("Format", "left", lambda r: markdown_cell(r["framework"]) or "-"),
            ("Nodes (devices)", "right", _nodes),
            ("DP/TP/PP", "center", _split),
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


def restated_table(names: Names, rows: Sequence[Row]) -> Markdown:
    """TFLOP/s and share of the peak by one formula, beside what is printed and what printed it."""
    columns: list[tuple[str, str, Callable[[Row], str]]] = [
        ("Where", "left", lambda r: f"{markdown_cell(names.short(r['uri']))}:{r['line']}"),
        ("System", "left", lambda r: _system(names, r)),
        ("Nodes (devices)", "right", _nodes),
        ("DP/TP/PP", "center", _split),
        ("Recompute", "left", _recompute),
        ("TFLOPs, printed", "right", lambda r: significant(r["printed"], 4)),
        ("Printed by", "left", lambda r: markdown_cell(r["printed_by"])),
        ("Formula", "left", lambda r: r["formula"]),
        ("TFLOP/s/process", "right", _restated_value),
        ("MFU", "right", lambda r: "" if r["hardware"] else italic(percent(r["share"], 1))),
        ("HFU", "right", lambda r: italic(percent(r["share"], 1)) if r["hardware"] else ""),
        ("Not restated", "left", lambda r: markdown_cell(r["why"])),
    ]
    if _several(rows):
        columns.insert(1, ("Model", "left", _model))
    shares = {"MFU": False, "HFU": True}
    dropped = {
        name
        for name, hardware in shares.items()
        if not any(r["share"] is not None and r["hardware"] == hardware for r in rows)
    }
    dropped |= {"Not restated"} if not any(row["why"] for row in rows) else set()
    return _table([column for column in columns if column[0] not in dropped], rows)


def _restated_value(row: Row) -> str:
    mark = " ⚠" if row["left_out"] else ""
    return italic(significant(row["value"], 3)) + mark if row["value"] is not None else ""


def left_out_table(names: Names, rows: Sequence[Row], suggestions: bool = False) -> Markdown:
    """What is kept out of rankings and charts, and why; with what may be meant, if asked for."""
    meant: list[tuple[str, str, Callable[[Row], str]]] = [
        ("Suggestion", "left", lambda r: markdown_cell(r["suggestion"]))
    ]
    return _table(
        [
            ("Where", "left", lambda r: f"{markdown_cell(names.short(r['uri']))}:{r['line']}"),
            ("Why", "left", lambda r: markdown_cell(names.within(r["detail"]))),
            *(meant if suggestions else []),
        ],
        rows,
        merged=("Where",),
    )


def source_table(names: Names, rows: Sequence[Row]) -> Markdown:
    """Every source of the page: name, path, rows used, lines, digest."""
    return _table(
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


def _several(rows: Sequence[Row]) -> bool:
    """Whether the rows are of more than one model."""
    return len({row["size"] for row in rows}) > 1


def _table(
    columns: Sequence[tuple[str, str, Callable[[Row], str]]],
    rows: Sequence[Row],
    merged: Sequence[str] = (),
) -> Markdown:
    """Rows as a table; neighbours that differ in `merged` columns alone are one row."""
    heads = [head for head, _, _ in columns]
    apart = [at for at, head in enumerate(heads) if head in merged]
    groups: list[list[list[str]]] = []
    for cells in ([write(row) for _, _, write in columns] for row in rows):
        last = groups[-1][0] if groups else []
        alike = [a == b for a, b in zip(last, cells, strict=False)]
        if apart and last and all(same for at, same in enumerate(alike) if at not in apart):
            groups[-1].append(cells)
        else:
            groups.append([cells])
    body = [
        [
            _joined(each) if at in apart else each[0]
            for at, each in enumerate(zip(*group, strict=True))
        ]
        for group in groups
    ]
    return pipe_table(heads, body, [side for _, side, _ in columns])


def _joined(cells: Sequence[str]) -> str:
    """Cells as one, in order: 004:44, :45; what all share once."""
    if len(set(cells)) == 1:
        return cells[0]
    said, last = [], ""
    for cell in cells:
        source, colon, line = cell.rpartition(":")
        said.append(f":{line}" if colon and source == last else cell)
        last = source
    return ", ".join(said)


def _source(names: Names, row: Row) -> str:
    more = len(row["places"]) - 1 if row.get("places") else 0
    return f"{markdown_cell(names.short(row['uri']))}:{row['line']}{f' +{more}' if more else ''}"


def _nodes(row: Row) -> str:
    nodes, count = number(row["nodes"]), number(row["world_size"])
    text = f"{nodes} ({count})" if nodes and count else nodes or (count and f"({count})")
    return with_mark(text, row, *SIZE)


def _split(row: Row) -> str:
    return with_mark(topology_short(row), row, *SPLIT)


def _model(row: Row) -> str:
    return with_mark(markdown_cell(row["size"]), row, *MODEL)


def _system(names: Names, row: Row) -> str:
    return with_mark(markdown_cell(names.system(row["system"])), row, *DEVICE)


def _recompute(row: Row) -> str:
    return with_mark(row["recompute"] or "", row, "recompute") or "not stated"


def _window(row: Row) -> str:
    if row["lines"] is None:
        return ""
    several = row["first_iteration"] != row["last_iteration"]
    span = (
        f"{row['first_iteration']}-{row['last_iteration']}"
        if several
        else str(row["first_iteration"])
    )
    return f"{span}, n = {row['n']} in {row['lines']} {'line' if row['lines'] == 1 else 'lines'}"


def _days_range(row: Row) -> str:
    """The range in the unit of the value, so that the two compare at a glance."""
    low, high = row["days_low"], row["days_high"]
    if low is None or high is None or high < 1000 or row["days"] >= 1000:
        return range_text(low, high, "days")
    return range_text(low, high, lambda x: number(x, 0))


def _marked(text: str, row: Row) -> str:
    return f"{text}^" if row["time_is_marked"] and text else text


def _lines(numbers: Sequence[int]) -> str:
    """`line 8`, `lines 8, 12, 40, ...`: the first three."""
    shown = ", ".join(map(str, numbers[:3])) + (", ..." if len(numbers) > 3 else "")
    return f"line{'s' if len(numbers) > 1 else ''} {shown}"
