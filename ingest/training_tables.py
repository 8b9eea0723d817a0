"""Whether a table tells of training runs: by its headings, and by the words around it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..vocabulary.headings import Column, columns_of, is_benchmark

_TRAINING = re.compile(
    r"\b(?:pre-?|post-?)?train(?:s|ed|ing|er)?\b|\bfine-?tun\w*|\bFSDP2?\b|\bHSDP\b|\bZeRO\b"
    r"|\bactivation (?:checkpoint|recompute)\w*|\btokens? (?:per|/) ?gpu|\bmicro-?batch",
    re.I,
)
_INFERENCE = re.compile(
    r"\binferenc\w*|\bserving\b|\bdecod(?:e|ing)\b|\bprefill\b|\bgenerat(?:e|ion)\b|\bvLLM\b"
    r"|\bTTFT\b|\bTPOT\b|\bevaluation\b|\bweb_?demo\b",
    re.I,
)
# Quantities that only a server has; the latency of a step is one of training.
_SERVED = re.compile(
    r"(?<!step )(?<!iteration )\blatency\b|\bTTFT\b|\bTPOT\b|\bITL\b|\bprefill\b|\bdecod(?:e|ing)\b"
    r"|\bprompts?\b|\brequests?\b|\bconcurren|\b(?:in|out)put (?:len|tok)|\bISL\b|\bOSL\b|\bQPS\b",
    re.I,
)
_SAVES = re.compile(
    r"\b(?:sav|load|restor|writ)\w*[ -]+(?:of[ -]+)?(?:the[ -]+)?checkpoint|\bcheckpoint\w*[ -]+"
    r"(?:sav|load|restor|writ|i/?o\b|size)",
    re.I,
)
_KERNELS = re.compile(
    r"\bkernels?\b|\bgemms?\b|\bmatmuls?\b|\bmicro-?bench\w*|\ball-?(?:reduce|gather|to-?all)\b"
    r"|\breduce-?scatter\b|\bcollectives?\b|\bbandwidth\b",
    re.I,
)
_QUALITY = re.compile(
    r"\bloss(?:es)?\b|\bperplexity\b|\bppl\b|\bacc(?:uracy)?\b|\bf1\b|\bbleu\b|\bscores?\b|\bbpb\b",
    re.I,
)
_RATES = frozenset(
    re.findall(
        r"\w+",
        "tokens_per_s tokens_per_s_per_device samples_per_s samples_per_s_per_device step_time"
        " steps_per_s tflops hw_tflops mfu hfu",
    )
)
_SIZED = ("topology", "batch")


def is_training(headings: Sequence[str], path: Sequence[str], lead: str) -> bool:
    """Whether a table is one of training runs; `path` are the headings above, outermost first.

    The nearest words decide between training and inference. Loss curves, timings of kernels and
    saves of checkpoints are none.
    """
    columns = [column for column in columns_of(headings) if column]
    results = {column.name for column in columns if column.role == "result"}
    sized = any(column.role in _SIZED for column in columns)
    near = [lead, *reversed(path)]
    if any(_SERVED.search(heading) for heading in headings) or _nearest(near) == "inference":
        return False
    if _SAVES.search(" ".join(near[:2])) and results <= {"step_time", "speed", "mem"}:
        return False
    if not sized and any(_KERNELS.search(text) for text in (*headings, near[0], *near[1:2])):
        return False
    if not results and any(_QUALITY.search(heading) for heading in headings):
        return False
    return is_benchmark(headings) or _is_measured(columns, results, near)


def _nearest(texts: Sequence[str]) -> str | None:
    """What the nearest text that speaks of either is about: training or inference."""
    for text in texts:
        said = bool(_TRAINING.search(text)), bool(_INFERENCE.search(text))
        if said != (False, False):
            return "inference" if said == (False, True) else "training"
    return None


def _is_measured(columns: Sequence[Column], results: set[str], near: Sequence[str]) -> bool:
    """A rate beside another column that we know, where the words around speak of training."""
    rates = results & _RATES
    beside = [column for column in columns if column.role != "remark" and column.name not in rates]
    return bool(rates) and bool(beside or len(rates) > 1) and _nearest(near) == "training"
