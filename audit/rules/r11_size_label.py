"""R11: size labels against the parameters of the shape."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import Finding
from ..formula_detection import testable, time_of
from ..formulas import compute, padded
from ..input import AuditInput, Row, Table
from ..rule import declared

RULE = declared(__name__)


_OFF = 0.10
_GATED, _VOCABULARY = 1.5, 128_256  # a third matrix in the MLP; two embeddings, as of Llama 3
_ALIKE = 3  # so many labels are not wrong in one document: the MLP or the vocabulary differs


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Labels off both the parameters with and without embedding, and two labels of one model."""
    for document in data.documents:
        odd = [
            (row, sizes) for row in document.rows if (sizes := _sizes(row)) and _differs(row, sizes)
        ]
        known = [row for row in document.rows if row.params_b and _sizes(row)]
        if len({row.model for row, _ in odd}) >= _ALIKE and 2 * len(odd) > len(known):
            yield _other_shape(odd)
            odd = []
        by_label: dict[tuple[str | None, tuple[float, float]], list[Row]] = {}
        for row, sizes in odd:
            by_label.setdefault((row.model, sizes), []).append(row)
        for (label, sizes), rows in by_label.items():
            yield RULE.finding(
                "label", tuple(row.at("size") for row in rows), rows=rows, sizes=sizes, label=label
            )
        for table in document.tables:
            yield from _two_labels(table)


def _other_shape(odd: list[tuple[Row, tuple[float, float]]]) -> Finding:
    odd_labels = ", ".join(
        f"line {row.line} {sizes[0]:.3g}B to {sizes[1]:.3g}B, labelled {row.model}"
        for row, sizes in odd[:4]
    )
    return RULE.finding(
        "other_shape",
        tuple(row.at("size") for row, _ in odd),
        odd_labels=odd_labels,
        more=" ..." if len(odd) > 4 else "",
    )


def _sizes(row: Row) -> tuple[float, float] | None:
    """Parameters in 1e9 without and with embedding."""
    if row.swiglu or (row.ffn_hidden and row.hidden and row.ffn_hidden != 4 * row.hidden):
        return None
    if row.kv_heads and row.kv_heads != row.heads:
        return None
    vocab = row.vocab or (padded(row.vocab_fitted, row.tp or 1) if row.vocab_fitted else None)
    shape = {"l": row.layers, "h": row.hidden, "s": row.seq_len or 0, "v": vocab or 50304}
    without, whole = compute("P1N", shape), compute("P1", shape)
    return (without / 1e9, whole / 1e9) if without and whole else None


def _differs(row: Row, sizes: tuple[float, float]) -> bool:
    label, (without, whole) = row.params_b or 0.0, sizes
    if not row.vocab_fitted:  # no formula determines the MLP or the vocabulary: they may be larger
        whole = max(whole, _GATED * without + 2 * (row.hidden or 0) * _VOCABULARY / 1e9)
    return bool(label) and not without * (1 - _OFF) <= label <= whole * (1 + _OFF)


def _two_labels(table: Table) -> Iterator[Finding]:
    """Two labels whose time x TFLOPs x processes / GBS is the same: the same model."""
    work: dict[str, float] = {}
    first: dict[str, Row] = {}
    for row in table.rows:
        if not (testable(row) and row.model and row.gbs and row.world and row.layers is None):
            continue
        assert row.tflops is not None and row.time is not None
        if row.tflops.digits < 4 or time_of(row).high / time_of(row).low > 1.001:
            continue
        work.setdefault(row.model, row.tflops.value * row.time.value * row.world / row.gbs)
        first.setdefault(row.model, row)
    labels = sorted(work)
    for place, one in enumerate(labels):
        for two in labels[place + 1 :]:
            if abs(work[one] / work[two] - 1) < 2e-4:
                yield RULE.finding(
                    "two_labels",
                    (first[one].at("size"), first[two].at("size")),
                    one=one,
                    first_line=first[one].line,
                    two=two,
                    second_line=first[two].line,
                    work=work[one],
                )
