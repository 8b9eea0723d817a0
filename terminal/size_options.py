"""Options for the sizes of a configuration that was not run: of predictions and proposals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ..schema.errors import BenchError
from . import options as o

_RECOMPUTE = ("none", "selective", "full")
_DTYPES = ("fp32", "fp16", "bf16", "fp8", "fp4")
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


def checked_sizes(sizes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The requested sizes; raises BenchError for unknown values of recompute and dtype."""
    if sizes.get("recompute", "none") not in _RECOMPUTE:
        raise BenchError(
            f"--recompute {sizes['recompute']!r} is unknown", hint=f"one of {', '.join(_RECOMPUTE)}"
        )
    if sizes.get("dtype", "bf16") not in _DTYPES:
        raise BenchError(
            f"--dtype {sizes['dtype']!r} is unknown", hint=f"one of {', '.join(_DTYPES)}"
        )
    return sizes
