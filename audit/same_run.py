"""Whether a row and what a log states may be of one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .book import Document, Row

FIELDS = ("nodes", "devices", "world", "dp", "tp", "pp", "cp", "mbs", "gbs", "seq_len", "layers",
           "hidden", "heads", "recompute", "zero_stage")  # fmt: skip


def measured_rows(documents: Sequence[Document]) -> Iterator[Row]:
    """The rows of tables that are measurements, and whose cells fit."""
    for document in documents:
        for row in document.rows:
            if row.origin == "row" and not row.misfits and row.kind == "measured":
                yield row


def compatible(stated: Mapping[str, object], row: Row, least: int) -> bool:
    """Whether nothing that both state differs, and so many fields are stated by both."""
    both = [
        (value, getattr(row, name))
        for name, value in stated.items()
        if value is not None and getattr(row, name) is not None
    ]
    return len(both) >= least and all(one == other for one, other in both)
