"""`bench history`: the changes of a document's number in git."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..decide.query import Query
from ..terminal import options as o
from ..terminal.answers import write
from ..terminal.messages import info
from ..terminal.source import Source
from ..vocabulary.format import counted

if TYPE_CHECKING:
    from ..schema.warehouse import Warehouse


@o.command(source=("db",), query=("model", "document", "all_rows", "columns"))
def history(
    source: Source,
    query: Query,
    row: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE:LINE", help="A row as it stands now. Default: rows that changed."
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", metavar="NAME", help="Only this number, e.g. tflops.")
    ] = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Show when a number appeared, each change, when it went; -o FILE.svg draws it."""
    from ..decide.history import history as found
    from ..project.short_names import ShortNames
    from ..reports.computed import presented

    with source.opened() as warehouse:
        made = found(warehouse, query, row, metric)
        names = ShortNames.of(warehouse)
    if output is not None and output.suffix.lower() in (".svg", ".png"):
        from ..reports.chart import write as write_chart
        from ..reports.history_chart import history_picture

        write_chart(history_picture(names, made), output)
        info(f"wrote {output}")
    else:
        write(presented(made, names, query.most), query, format, output, "history.md")
    rows, changes = made.facts["row_count"], len(made.rows)
    info(f"{counted(rows, 'row')}, {counted(changes, 'event')}")


def _documents(warehouse: Warehouse) -> list[str]:
    rows = warehouse.rows("SELECT uri FROM revisions UNION SELECT uri FROM sources ORDER BY uri")
    return [uri for (uri,) in rows]
