"""Models of several shapes normalised to one: FLOPs per token, and the rate of another shape."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import median

from ..schema.warehouse import Row
from .provenance import Derivation

_SHAPE = ("size", "layers", "hidden", "seq_len")


@dataclass(frozen=True, slots=True)
class Work:
    """FLOPs a token of each row up to a common factor, and how they are known."""

    per_token: tuple[float, ...]
    method: str

    @property
    def differs(self) -> bool:
        """Whether a token costs some rows more than others."""
        return max(self.per_token) / min(self.per_token) > 1 + 1e-9

    def derivation(self, rows: int) -> Derivation:
        """How the FLOPs a token of a row are made, whose model `rows` rows have."""
        unit = "FLOP a token"
        if self.method.startswith("F5"):
            words, of = "6e9 x params_b", ("params_b",)
            return Derivation(expression=words, inputs=of, unit=unit, title="F5")
        column = "model_tflops" if self.method.startswith("F7") else "tflops"
        words = f"{column} x 1e12 x world_size / tokens_per_s"
        if rows > 1:
            words = f"median over the {rows} rows of its model: {words}"
        inputs = (column, "world_size", "tokens_per_s")
        return Derivation(expression=words, inputs=inputs, unit=unit, title=self.method)


def shapes_differ(rows: Sequence[Row]) -> bool:
    """Whether rows are of more than one shape, as far as they state it."""
    return any(len({row[name] for row in rows if row[name] is not None}) > 1 for name in _SHAPE)


def work(rows: Sequence[Row]) -> Work | None:
    """FLOPs a token by one method for all rows, the first that they allow; None: no method."""
    # One method for all: two of them differ by more than the shapes that are compared.
    for method, allowed, count in (
        ("F7 from the shape", _by_shape, _model_flops),
        ("the printed TFLOPs x processes x time", _by_print, _printed_flops),
        ("F5 from the size label", _by_label, labelled_flops),
    ):
        if allowed(rows) and all(found := [count(row) for row in rows]):
            return Work(_by_model(rows, [one for one in found if one]), method)
    return None


def model_of(row: Row) -> tuple[Hashable, ...]:
    """Equal for rows of one model: a token costs the same for all, whatever the rounding."""
    return tuple(row[name] for name in _SHAPE)


def _by_model(rows: Sequence[Row], found: Sequence[float]) -> tuple[float, ...]:
    """The median over the rows of each model."""
    sets: dict[tuple[Hashable, ...], list[float]] = {}
    keys = [model_of(row) for row in rows]
    for key, value in zip(keys, found, strict=True):
        # Otherwise, rounded step times would give two rows of one model different costs.
        sets.setdefault(key, []).append(value)
    return tuple(median(sets[key]) for key in keys)


def normalised(rows: Sequence[Row], known: Work) -> list[float]:
    """Tokens/s that each row would reach with the shape of the first, at the FLOP/s it has."""
    first = known.per_token[0]
    return [
        float(row["tokens_per_s"]) * one / first
        for row, one in zip(rows, known.per_token, strict=True)
    ]


def labelled_flops(row: Row) -> float | None:
    """6 FLOPs per parameter and token, with stated parameters or those of the label."""
    return 6e9 * row["params_b"] if row["params_b"] else None


def _by_shape(rows: Sequence[Row]) -> bool:
    return all(row["model_formula"] == "F7" for row in rows)


def _by_print(rows: Sequence[Row]) -> bool:
    """One table prints by one formula, as long as its rows recompute alike."""
    kinds = ("table_id", "recompute", "procs_per_node")
    return rows[0]["table_id"] is not None and all(
        len({row[name] for row in rows}) == 1 for name in kinds
    )


def _by_label(rows: Sequence[Row]) -> bool:
    return all(row["params_b"] for row in rows)


def _model_flops(row: Row) -> float | None:
    if not (row["model_tflops"] and row["world_size"] and row["tokens_per_s"]):
        return None
    return float(row["model_tflops"] * 1e12 * row["world_size"] / row["tokens_per_s"])


def _printed_flops(row: Row) -> float | None:
    if not (row["tflops"] and row["world_size"] and row["tokens_per_s"]):
        return None
    return float(row["tflops"] * 1e12 * row["world_size"] / row["tokens_per_s"])
