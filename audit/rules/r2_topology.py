"""R2: DP x TP x PP against the processes."""

from __future__ import annotations

from collections.abc import Iterator

from ..book import Book, Document, Row, Table
from ..finding import Finding
from ..mend import devices_a_node, holds, mends, suggestion
from ..repair import with_value
from ..rule import Rule
from ..titles import TITLES
from ..topology import SIZES, contradicts, repairs


def check(book: Book) -> Iterator[Finding]:
    """Rows whose sizes do not multiply out to the processes that nodes or GPUs give."""
    for document in book.documents:
        for table in document.tables:
            asked = [row for row in table.rows if row.product and not row.sharded]
            off = [row for row in asked if contradicts(row)]
            # A table that mostly disagrees counts otherwise (TP within DP, sub-jobs): no errors.
            if 2 * len(off) > len(asked) and len(off) > 1:
                yield _other_counting(off)
                continue
            borne_out = len(asked) - len(off)
            for row in off:
                if row.per_node_guessed and (borne_out < 2 or 3 * borne_out < 2 * len(asked)):
                    continue  # too few rows to know how many processes a node has
                yield _finding(document, table, row)
            yield from _undivided(table)
            yield from _nodes(table)


def _undivided(table: Table) -> Iterator[Finding]:
    """Rows whose model does not fit into their processes a whole number of times."""
    asked = [(row, _model(row)) for row in table.rows if _counted(row) and _model(row) > 1]
    off = [(row, size) for row, size in asked if (row.world or 0) % size]
    for row, size in off if 3 * len(off) <= len(asked) or len(asked) < 3 else ():
        names = [name for name in ("devices", "ranks", *SIZES) if name in table.columns]
        said = " x ".join(TITLES[name] for name in SIZES if (getattr(row, name) or 1) > 1)
        yield Finding(
            ("R2",),
            "error",
            "high",
            "topology contradicts itself as printed",
            f"{said} = {size} does not divide {row.world} processes",
            tuple(row.at(name) for name in names) or (row.at(),),
        )


def _model(row: Row) -> int:
    copies = 1 if row.sharded else row.dp or 1
    return copies * (row.tp or 1) * (row.pp or 1) * (row.cp or 1)


def _counted(row: Row) -> bool:
    measured = row.measured and row.status == "ok" and not row.misfits
    return bool(measured and row.product is None and row.world and (row.devices or row.ranks))


def _nodes(table: Table) -> Iterator[Finding]:
    """Nodes and devices that are not in the proportion of the other rows."""
    usual = devices_a_node(table)
    for row in table.rows if usual else ():
        if row.nodes and row.devices and row.devices / row.nodes != usual:
            found = mends(table, row)
            yield Finding(
                ("R2",),
                "error",
                "medium",
                "nodes and devices contradict each other as printed",
                f"{row.devices} devices on {row.nodes} nodes, in the other rows {usual:g} on each",
                (row.at("nodes"), row.at("devices")),
                suggestion(found),
            )


def _finding(document: Document, table: Table, row: Row) -> Finding:
    detected = table.detected
    found = repairs(
        row, document, detected,
        lambda name, value: holds(table, row, with_value(row, name, value)),
    )  # fmt: skip
    unit = "nodes" if row.nodes else "devices" if row.devices else "ranks"
    sizes = [name for name in ("dp", "tp", "pp", "cp") if getattr(row, name) is not None]
    product = " x ".join(TITLES[name] for name in sizes)
    stated = getattr(row, unit)
    word = {"nodes": "nodes", "devices": "GPUs", "ranks": "ranks"}[unit]
    if stated != row.world and row.world:
        word += f" = {row.world} processes"
    several = f"; possible: {', '.join(map(str, found))}" if len(found) > 1 else ""
    doubted = [name for name in (unit, *sizes) if name in table.columns]
    return Finding(
        ("R2",),
        "error",
        "high",
        "topology contradicts itself as printed",
        f"{product} = {row.product}, but {stated} {word}{several}",
        tuple(row.at(name) for name in doubted) or (row.at(),),
        str(found[0]) if len(found) == 1 else "",
    )


def _other_counting(off: list[Row]) -> Finding:
    return Finding(
        ("R2",),
        "warning",
        "low",
        "most rows of this table do not multiply out",
        f"such as DP x TP x PP = {off[0].product} on {off[0].world} processes, l.{off[0].line}",
        (off[0].at(),),
    )


RULE = Rule(
    "R2",
    20,
    "Topology",
    "DP x TP x PP (x CP) is the number of processes that nodes or GPUs give; where one of "
    "them is not told, the product of the others divides it; nodes and GPUs are in one proportion",
    "exact; a repair is one cell that then satisfies batch, heads, layers, TFLOPs and rates too; "
    "of nodes and GPUs three quarters of three rows or more",
    "error",
    check,
)
