"""R2: DP x TP x PP against the processes."""

from __future__ import annotations

from collections.abc import Iterator

from ...vocabulary.fields import axes
from ..finding import Finding
from ..fixes import consistent
from ..formula_fixes import with_value
from ..input import AuditInput, Document, Row, Table, title
from ..rule import declared
from ..topology import contradicts, counts_otherwise, topology_fixes

RULE = declared(__name__)


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Rows whose parallel sizes do not multiply to the processes on their nodes or GPUs."""
    for document in data.documents:
        for table in document.tables:
            tested = [row for row in table.rows if row.product and not row.sharded]
            off = [row for row in tested if contradicts(row)]
            if counts_otherwise(table):
                yield RULE.finding("other_counting", (off[0].at(),), off=off)
                continue
            borne_out = len(tested) - len(off)
            for row in off:
                if row.per_node_guessed and (borne_out < 2 or 3 * borne_out < 2 * len(tested)):
                    continue  # too few rows to determine the processes of a node
                yield _finding(document, table, row)


def _finding(document: Document, table: Table, row: Row) -> Finding:
    detected = table.detected
    changes = topology_fixes(
        row, document, detected,
        lambda name, value: consistent(table, row, with_value(row, name, value)),
    )  # fmt: skip
    unit = "nodes" if row.nodes else "devices" if row.devices else "ranks"
    sizes = [name for name in axes() if getattr(row, name) is not None]
    product = " x ".join(title(name) for name in sizes)
    stated = getattr(row, unit)
    word = {"nodes": "nodes", "devices": "GPUs", "ranks": "ranks"}[unit]
    if stated != row.world and row.world:
        word += f" = {row.world} processes"
    several = f"; possible: {', '.join(map(str, changes))}" if len(changes) > 1 else ""
    doubted = [name for name in (unit, *sizes) if name in table.columns]
    return RULE.finding(
        "product",
        tuple(row.at(name) for name in doubted) or (row.at(),),
        product=product,
        row=row,
        stated=stated,
        word=word,
        several=several,
        fix=str(changes[0]) if len(changes) == 1 else "",
    )
