"""R1i: the work of a token against the size of the model."""

from __future__ import annotations

from collections.abc import Iterator

from ..book import Book, Row, Table
from ..finding import Finding
from ..formulas import shape_of
from ..rule import Rule
from ..work import token_share, tokens_of

_LEAST, _MOST = 0.5, 3.0  # of 6 FLOP a parameter: without embedding; with recompute and scores
_LONG = 8192  # sequences above it take what attention scores take, which needs a shape


def check(book: Book) -> Iterator[Finding]:
    """Rows whose TFLOPs and tokens per second are those of a model of another size."""
    doubted = book.doubted()
    for table in book.tables:
        asked = [
            (row, share)
            for row in table.rows
            if (row.uri, row.line) not in doubted and (share := token_share(row))
        ]
        off = [(row, share) for row, share in asked if not _LEAST <= share <= _most(row)]
        # Where many are off, labels count experts, or the columns are of something else.
        for row, share in off if 3 * len(off) <= len(asked) else ():
            yield _finding(table, row, share)


def _most(row: Row) -> float:
    if (row.seq_len or 0) <= _LONG:
        return _MOST
    shape = shape_of(row.params_b) if row.hidden is None else (0, row.hidden, 0)
    return _MOST * (1 + (row.seq_len or 0) / (6 * shape[1])) if shape else float("inf")


def _finding(table: Table, row: Row, share: float) -> Finding:
    assert row.tflops is not None, "rows with TFLOPs are asked"
    names = ("tflops", "tokens_per_s_per_device", "tokens_per_s", "size")
    return Finding(
        ("R1i",),
        "warning",
        "medium",
        "TFLOPs, tokens per second and size do not go together",
        f"{row.tflops.value:g} TFLOPs / {tokens_of(row):.4g} tokens/s is {share:.2g} times the "
        f"6 FLOP a parameter of {row.params_b:g}B; other rows are between {_LEAST:g} and {_MOST:g}",
        tuple(row.at(name) for name in names if name in table.columns) or (row.at(),),
        "one of them is wrong, or the size counts parameters that a token does not pass",
    )


RULE = Rule(
    "R1i",
    48,
    "Work of a token",
    "TFLOPs over tokens/s of a device is 6 FLOP a parameter, more with recompute and scores",
    "0.5 to 3 times 6 FLOP a parameter of the label, above 8192 tokens more as the shape says; "
    "said where two thirds of the rows are within; not of mixtures of experts",
    "warning",
    check,
)
