"""`bench predict`: what a configuration that nobody ran would give."""

from __future__ import annotations

from collections.abc import Mapping
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


ASKED: o.Options = {
    **{name: _option(name, about, int, min=1) for name, about in _MANY.items()},
    "zero_stage": _option("zero_stage", "ZeRO stage.", int, min=0, max=3),
    "recompute": _option("recompute", "none, selective or full.", str),
}


@o.command(query=(*o.SELECTION, "steps", "tokens", "columns"), groups={"asked": ASKED})
def predict(
    source: Source,
    query: Query,
    asked: Mapping[str, Any],
    every: Annotated[
        bool, typer.Option("--all", help="All feasible splits of the devices, beside the measured.")
    ] = False,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Predict speed, memory and days of a configuration that was not run."""
    from ..terminal import foreseeing

    foreseeing.predict(source, query, asked, every, format, output)
