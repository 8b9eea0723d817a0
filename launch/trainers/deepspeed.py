"""The reference model through DeepSpeed's engine: ZeRO 0 to 3, data-parallel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec

from ..trainer import Examined, Sizes, Words
from .reference import Reference


class DeepSpeed(Reference):
    """`python -m bench.trainer.deepspeed`, which takes the flags of the reference trainer."""

    program = "bench.trainer.deepspeed"
    framework: str | None = "DeepSpeed"

    def missing(self) -> str | None:
        """DeepSpeed comes with an extra of its own."""
        if find_spec("deepspeed") is None:
            install = "DS_BUILD_OPS=0 pip install --no-build-isolation 'bench-warehouse[deepspeed]'"
            return super().missing() or f"deepspeed is not installed: {install}"
        return super().missing()

    def examine(self, requested: Sequence[Words]) -> Examined:
        """As the reference trainer says, less what the engine does not share here."""
        found = super().examine(requested)
        return replace(found, sizes=[_data_parallel_only(sizes) for sizes in found.sizes])


def _data_parallel_only(sizes: Sizes) -> Sizes:
    axes = {name: sizes.facts.get(name, 1) for name in ("tp", "pp", "cp", "ep")}
    if sizes.refused is None and set(axes.values()) != {1}:
        shared = ", ".join(f"{name.upper()} {size}" for name, size in axes.items() if size != 1)
        why = f"the DeepSpeed trainer supports only data parallelism, not {shared}"
        return replace(sizes, refused=why)
    return sizes
