"""The reference model through DeepSpeed's engine: ZeRO 0 to 3, data-parallel."""

from __future__ import annotations

from importlib.util import find_spec

from .reference import Reference


class DeepSpeed(Reference):
    """`python -m bench.trainer.deepspeed` with the flags of the reference trainer."""

    program = "bench.trainer.deepspeed"
    framework: str | None = "DeepSpeed"

    def missing(self) -> str | None:
        """DeepSpeed, which is in an extra of its own."""
        if find_spec("deepspeed") is None:
            install = "DS_BUILD_OPS=0 pip install --no-build-isolation 'bench-warehouse[deepspeed]'"
            return super().missing() or f"deepspeed is not installed: {install}"
        return super().missing()
