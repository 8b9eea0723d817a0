"""The table of model shapes, batches and parameters of each source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..decide.rows import system_of
from ..project.short_names import ShortNames
from ..schema.warehouse import Row
from ..vocabulary.format import number, params
from .escape import Markdown, italic, markdown_cell
from .table_cells import line_list, model_cell, several_models, table_of
from .words import DEVICE, SHAPE, text_of, with_mark

_MOST = 6  # values of a batch listed
Lines = dict[tuple[str, str, str], list[int]]


def shape_table(names: ShortNames, rows: Sequence[Row], lines: Sequence[Row]) -> Markdown:
    """Model shape, batch and parameters of each source, with the lines that state them."""
    stated: Lines = {}
    for line in lines:
        key = (line["uri"], line["field"], line["value"])
        stated.setdefault(key, []).append(line["line"])

    def systems(row: Row) -> str:
        # One of a document without a device is the document, which has a name of its own.
        shown = [(name, names.system(name)) for name in row["systems"]]
        merged = dict.fromkeys(system_of(name) if name == text else text for name, text in shown)
        listed = ", ".join(map(markdown_cell, merged))
        return with_mark(listed, row, *DEVICE)

    def length(row: Row) -> str:
        text = with_mark(number(row["seq_len"]), row, "seq_len") or "not stated"
        return text + _by(stated, row, "seq_len")

    def batch(row: Row) -> str:
        text = with_mark(_several(row["gbs"] or [], str), row, "gbs") or "not stated"
        return text + _by(stated, row, "gbs")

    def tokens(row: Row) -> str:
        return italic(_several(row["tokens_per_step"] or [], number))

    return table_of(
        [
            ("Source", "left", lambda r: markdown_cell(names.short(r["uri"]))),
            *([("Model", "left", model_cell)] if several_models(rows) else []),
            ("System", "left", systems),
            ("Layers / hidden / heads", "left", lambda r: _shape(stated, r)),
            ("Seq len", "left", length),
            ("GBS", "left", batch),
            ("Tokens/it", "right", tokens),
            ("Parameters", "left", _parameters),
        ],
        rows,
        merged=("Source",),
    )


def _several(values: Sequence[Any], text: Callable[[Any], str]) -> str:
    """The values, or from which to which they are; they are sorted."""
    if len(values) > _MOST:
        return f"{text(values[0])} to {text(values[-1])} ({len(values)} values)"
    return ", ".join(map(text, values))


def _by(stated: Lines, row: Row, *fields: str) -> str:
    """The lines that state these values of a row in its source, in brackets."""
    values = [(field, value) for field in fields for value in _values(row[field])]
    found = sorted({line for one in values for line in stated.get((row["uri"], *one), [])})
    return f" ({line_list(found)})" if found else ""


def _values(value: object) -> list[str]:
    return [str(one) for one in (value if isinstance(value, list) else [value])]


def _shape(stated: Lines, row: Row) -> str:
    if row["layers"] is None and row["hidden"] is None:
        return "not stated"
    heads = ", ".join(map(str, row["heads"] or ["?"]))
    text = f"{text_of(row['layers']) or '?'} / {text_of(row['hidden']) or '?'} / {heads}"
    return with_mark(text, row, *SHAPE) + _by(stated, row, "layers", "hidden", "heads")


def _parameters(row: Row) -> str:
    if row["params_computed"] is None and row["params_stated"] is not None:
        return f"{params(row['params_stated'])} stated"
    if row["params_computed"] is None:
        return f"label {markdown_cell(row['label'])}" if row["label"] else "not stated"
    assumed = f"; V = {number(int(row['vocab_used']))} assumed" if row["vocab_assumed"] else ""
    without = params(row["params_without_embedding"])
    return f"*{params(row['params_computed'])}* (*{without}* without embeddings{assumed})"
