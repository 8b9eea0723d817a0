"""The effect of one setting, as a table: two configurations a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..project.short_names import ShortNames
from ..schema.warehouse import Row
from ..vocabulary.format import number, percent, range_text, significant
from .escape import Markdown, markdown_cell, pipe_table
from .words import topology_short


def pairs_table(names: ShortNames, rows: Sequence[Row]) -> Markdown:
    """Without and with the setting: times with range and n, change, verdict."""
    columns: Sequence[tuple[str, str, Callable[[Row], str]]] = [
        ("System", "left", lambda r: markdown_cell(names.system(r["system"]))),
        ("Model", "left", lambda r: markdown_cell(r["size"])),
        ("Nodes (processes)", "right", _nodes),
        ("DP/TP/PP", "center", topology_short),
        ("MBS", "right", lambda r: number(r["mbs"])),
        ("GBS", "right", lambda r: number(r["gbs"])),
        ("From", "left", lambda r: _value(r["base"]["value"])),
        ("Sec/it", "right", lambda r: _time(r, r["base"])),
        ("TFLOPs", "right", lambda r: significant(r["base"]["tflops"], 3)),
        ("Mem", "right", lambda r: number(r["base"]["memory"], 0)),
        ("To", "left", lambda r: _value(r["value"])),
        ("Sec/it", "right", lambda r: _time(r, r)),
        ("TFLOPs", "right", lambda r: significant(r["tflops"], 3)),
        ("Mem", "right", lambda r: number(r["memory"], 0)),
        ("Change", "right", lambda r: percent(r["change"], 1)),
        ("Verdict", "left", _verdict),
        ("Load (cores)", "right", _load),
        ("Source", "left", lambda r: _source(names, r)),
    ]
    body = [[write(row) for _, _, write in columns] for row in rows]
    return pipe_table([head for head, _, _ in columns], body, [side for _, side, _ in columns])


def _value(value: str | None) -> Markdown | str:
    return "not set" if value is None else markdown_cell(value)


def _time(row: Row, side: Row) -> str:
    median = significant(side["step_time_s"], 4)
    if row["origin"] != "log":
        return f"{number(side['step_time_s'])} (n = 1)" if side["n"] == 1 else median
    if side["n"] == 1:
        return f"{median} (n = 1)"
    spread = range_text(side["fastest"], side["slowest"], lambda x: significant(x, 4))
    return f"{median} ({spread}, n = {side['n']})"


def _verdict(row: Row) -> str:
    if row["n"] == 1 or row["base"]["n"] == 1:
        return "one run: no spread"
    if not row["apart"]:
        return "within the spread"
    which = "slower" if row["change"] > 0 else "faster"
    return f"every run {which}; by chance 1 in {number(row['one_in'], 0)}"


def _load(row: Row) -> str:
    """The load of the machine at the start of runs: the most processes that wanted its cores."""
    if row["load"] is None:
        return ""
    return f"{significant(row['load'], 2)} ({number(row['cpus'])})"


def _nodes(row: Row) -> str:
    nodes, count = number(row["nodes"]), number(row["world_size"])
    return f"{nodes} ({count})" if nodes and count else nodes or (count and f"({count})")


def _source(names: ShortNames, row: Row) -> str:
    places = (row["base"], row)
    return ", ".join(
        f"{markdown_cell(names.short(place['uri']))}:{place['line']}" for place in places
    )
