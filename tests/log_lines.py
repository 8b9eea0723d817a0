"""Lines of logs as the reader of logs reads them, for tests."""

from __future__ import annotations

from bench.ingest.logs.log_result import LogResult
from tests import logs

LINE = (
    " iteration {n:8d}/    1000 | consumed samples: {samples:12d} | "
    "elapsed time per iteration (ms): {ms:.1f} | learning rate: 1.500E-04 | "
    "global batch size:     8 | lm loss: 5.760191E+00 | loss scale: 1.0 | "
    "number of skipped iterations:   0 | number of nan iterations:   0 |"
)


def line(n: int, ms: float = 100.0) -> str:
    """A step of Megatron."""
    return LINE.format(n=n, samples=8 * n, ms=ms)


def read(*lines: str) -> LogResult:
    """What is read of a log of these lines."""
    return logs.read("\n".join(lines))
