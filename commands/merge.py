"""`bench merge`: merge the results of several groups into one warehouse."""

from __future__ import annotations

from typing import Annotated

import typer

from ..terminal import options as o
from ..terminal.messages import info, warn, warn_of
from ..terminal.source import Source
from ..vocabulary.format import counted

_SHOWN = 10


@o.command(source=("db",))
def merge(
    others: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]OTHER...",
            help="Warehouses, shared ones too, or directories of records.",
        ),
    ],
    source: Source,
) -> None:
    """Merge warehouses and records of other groups into the warehouse, nothing twice."""
    from ..project.merging import contradicting, merge_all, parse_other
    from ..project.settings import find_db, read_settings

    db = find_db(source.db)
    named = [parse_other(text) for text in others]
    done, checked = merge_all(db, named, read_settings().formats, source.lock_timeout)
    for other, merged in done:
        parts = [f"{counted(len(merged.added), 'source')} added"]
        parts += [f"{len(merged.known)} known here by other names"] if merged.known else []
        parts += [f"{merged.unchanged} unchanged"] if merged.unchanged else []
        info(f"{other.group}: {', '.join(parts)}")
        for uri, twin in merged.otherwise[:_SHOWN]:
            warn(f"{uri} and {twin} have one name and other bytes")
        if (more := len(merged.otherwise) - _SHOWN) > 0:
            warn(f"and {counted(more, 'more pair')} of one name and other bytes")
    warn_of([*checked.contradictions, *contradicting(db, source.lock_timeout)])
    info(f"{db}: {counted(checked.errors, 'error')} found by the audit; next: bench audit")
