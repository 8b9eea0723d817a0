"""`bench predict`: the expected results of a configuration without runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import typer

from ..decide.query import Query
from ..terminal import options as o
from ..terminal.source import Source

_MANY = {
    "nodes": "Nodes.", "dp": "Data-parallel size. Default: what the others leave.",
    "tp": "Tensor-parallel size.", "pp": "Pipeline-parallel size.",
    "cp": "Context-parallel size.", "vpp": "Virtual stages of a pipeline rank.",
    "mbs": "Micro-batch size in sequences.", "gbs": "Global batch size in sequences.",
    "seq_len": "Sequence length in tokens.", "layers": "Transformer layers.",
    "hidden": "Hidden size.", "heads": "Attention heads.",
}  # fmt: skip


def _option(name: str, about: str, kind: Any, **more: Any) -> tuple[Any, object]:
    flag = f"--{name.replace('_', '-')}"
    return Annotated[kind | None, typer.Option(flag, help=about, show_default=False, **more)], None


SIZES: o.Options = {
    **{name: _option(name, about, int, min=1) for name, about in _MANY.items()},
    "zero_stage": _option("zero_stage", "ZeRO stage.", int, min=0, max=3),
    "recompute": _option("recompute", "none, selective or full.", str),
    "dtype": _option("dtype", "fp32, fp16, bf16, fp8 or fp4.", str),
}


class By(StrEnum):
    """The metrics that configurations are sorted by."""

    TOKENS_PER_S = "tokens_per_s"
    DAYS = "days"
    COST = "cost"
    ENERGY = "energy"


@o.command(query=(*o.SELECTION, "steps", "tokens", "columns", "prices"), groups={"sizes": SIZES})
def predict(
    source: Source,
    query: Query,
    sizes: Mapping[str, Any],
    every: Annotated[
        bool,
        typer.Option("--all", help="All feasible splits of the devices, not only measured ones."),
    ] = False,
    by: Annotated[By, typer.Option("--by", help="What --all ranks by.")] = By.TOKENS_PER_S,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Predict speed, memory, days and costs of a configuration not run; -o FILE.svg draws it."""
    from ..terminal import foreseeing

    query = replace(query, by=by.value)
    foreseeing.predict(source, query, sizes, every, format, output)
