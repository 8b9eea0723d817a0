"""Lines that look like measurements: numbers, and a word for one."""

from __future__ import annotations

import re

NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w.]*[A-Za-z_]\d)"
    r"|(?<![\w.])[-+]?(?:nan|inf)(?!\w)",
    re.I,
)
# Words for measurements of a training program.
METRIC = re.compile(
    r"(?i)\b(?:iter\w*|step\w*|loss\w*|lr|learning.rate|grad\w*|tokens?\w*|tok/s|samples?\w*|"
    r"t?flops?\w*|throughput|mfu|hfu|mem\w*|elapsed|time|epoch\w*|batch\w*|ppl|perplexity)\b"
)
# Each has one of these.
METRIC_WORDS = (
    "iter", "step", "loss", "lr", "learning", "grad", "token", "tok/s", "sample", "flop",
    "throughput", "mfu", "hfu", "mem", "elapsed", "time", "epoch", "batch", "ppl", "perplexity",
)  # fmt: skip
LONGEST = 2000  # characters of a line that are examined


def measures(text: str) -> bool:
    """Whether a line looks like a measurement."""
    start = text[:LONGEST]
    return METRIC.search(start) is not None and NUMBER.search(start) is not None
