"""Whether an unlabelled rate in tokens per second is of the job or of a device, by arithmetic.

An over-determined row decides: batch x length / step time, or FLOPs per token, which are 6 to 12
a parameter. The rows of a table have one scope; where no row decides, it stays open.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ...vocabulary.experts import has_experts
from ...vocabulary.hardware import peak_tflops
from ...vocabulary.heading_words import is_total
from ...vocabulary.sizes import parse_size
from .results import Result
from .row import PublishedRow

RATE = "tokens_per_s"
_CLOSE = 0.05  # of batch x length / step time
_GROWN = 1.5  # times the rate of half as many devices
_WORDS = re.compile(r"[^\W\d_]{2,}")
# FLOPs of a token over parameters: 6, 8 with full recomputation, and attention; a label rounds.
_LEAST, _MOST = 5.0, 14.0


@dataclass(frozen=True, slots=True)
class KnownValues:
    """The known values of a row; rates in TFLOP/s of a device."""

    devices: int
    tokens_per_s: float | None
    tflops: float | None
    params_b: float | None
    seq_len: int | None = None
    each: float | None = None  # tokens per second of a device, as another column prints them
    peak: float | None = None

    @property
    def attention(self) -> float:
        """The factor for attention on long sequences, by the usual width for so many parameters.

        Layers of 12 h^2 parameters, h / 128 of them: FLOPs grow by s / 6 h.
        """
        if not (self.seq_len and self.params_b):
            return 1.0
        width = math.cbrt(self.params_b * 1e9 * 128 / 12)
        return 1 + self.seq_len / (6 * width)


OPEN_SCOPE = "tokens per second: no row states or shows whether of the job or of a device"


def settled(
    headings: Sequence[str], rows: Sequence[tuple[PublishedRow, Sequence[Result]]]
) -> tuple[list[list[Result]], bool]:
    """The results of the rows of a table, and whether the scope of a rate is open.

    A rate of a device gets that metric; a rate of unknown scope has none.
    """
    measured = [list(results) for _, results in rows]
    bare = [any(_is_bare(result, headings) for result in results) for results in measured]
    if not any(bare):
        return measured, False
    votes = {
        scope for (read, results), is_bare in zip(rows, bare, strict=True)
        if is_bare and (scope := _scope_of(read, results))
    }  # fmt: skip
    scope = votes.pop() if len(votes) == 1 else None if votes else _scope_of_growth(rows)
    for (read, _), results in zip(rows, measured, strict=True):
        own = scope or ("job" if _devices(read) == 1 else None)
        results[:] = [
            _of(result, own) if _is_bare(result, headings) else result for result in results
        ]
    devices = [_devices(read) for (read, _), is_bare in zip(rows, bare, strict=True) if is_bare]
    return measured, scope is None and any(count != 1 for count in devices)


def _is_bare(result: Result, headings: Sequence[str]) -> bool:
    return result.metric == RATE and not any(is_total(heading) for heading in headings)


def _of(result: Result, scope: str | None) -> Result:
    metric = f"{RATE}_per_device" if scope == "device" else RATE
    return replace(result, metric=metric, scope=scope)


def _scope_of(read: PublishedRow, results: Sequence[Result]) -> str | None:
    """job or device, if exactly one of them makes the row consistent."""
    values = {result.metric: result.value for result in results}
    rate, known = values.get(RATE), known_of(read, values)
    if not rate or known is None or known.devices == 1:
        return None
    fits = {
        scope
        for scope, of_job in (("job", rate), ("device", rate * known.devices))
        if _adds_up(of_job, known)
    }
    return fits.pop() if len(fits) == 1 else None


def _scope_of_growth(rows: Sequence[tuple[PublishedRow, Sequence[Result]]]) -> str | None:
    """job, if rows of the same words have rates that grow with their devices.

    More devices make none of them much faster.
    """
    groups: dict[Hashable, dict[int, float]] = {}
    for read, results in rows:
        rate = next((result.value for result in results if result.metric == RATE), None)
        devices = _devices(read)
        if rate and devices:
            words = tuple(sorted(set(_WORDS.findall(read.words.casefold()))))
            groups.setdefault((words, read.model(), read.dtype()), {}).setdefault(devices, rate)
    growths = [
        (after[1] / before[1], after[0] / before[0])
        for group in groups.values()
        for before, after in pairwise(sorted(group.items()))
        if after[0] >= 2 * before[0]
    ]
    grown = [max(_GROWN, more / 2) <= faster <= _GROWN * more for faster, more in growths]
    return "job" if grown and all(grown) else None


def _adds_up(of_job: float, known: KnownValues) -> bool:
    """Whether a rate of the job agrees with all known values; False without any."""
    checks = []
    if known.tokens_per_s:
        checks.append(math.isclose(of_job, known.tokens_per_s, rel_tol=_CLOSE))
    if known.each:
        checks.append(math.isclose(of_job, known.each * known.devices, rel_tol=_CLOSE))
    if known.peak and known.params_b:  # no device exceeds its peak
        checks.append(6 * of_job / known.devices * known.params_b / 1e3 <= known.peak)
    if known.tflops and known.params_b:
        per_param = known.tflops * 1e3 * known.devices / of_job / known.params_b
        checks.append(plausible(per_param, known))
    return bool(checks) and all(checks)


def plausible(per_param: float, known: KnownValues) -> bool:
    """Whether so many FLOPs per token and parameter are possible in training."""
    return _LEAST <= per_param <= _MOST * known.attention


def known_of(read: PublishedRow, values: Mapping[str, float]) -> KnownValues | None:
    """The values of a row by its cells and the facts around it; None without a device count."""
    devices = _devices(read)
    if devices is None:
        return None
    gbs, length, time = read.integer("gbs"), read.integer("seq_len"), values.get("step_time_s")
    tokens = gbs * length / time if gbs and length and time else None
    tflops, kind = values.get("tflops"), read.dtype() or "bf16"
    peak = peak_tflops(read.device() or "", kind)
    if tflops is None and peak and (share := values.get("mfu") or values.get("hfu")):
        tflops = share * peak
    most = peak if kind in ("bf16", "fp16") else None
    dense = not has_experts(read.model() or "")
    label = read.model() or ""  # of the row, else of the text around it
    size = read.params_b() or parse_size(label) if dense else None
    each = values.get(f"{RATE}_per_device")
    return KnownValues(devices, tokens, tflops, size, length, each, most)


def _devices(read: PublishedRow) -> int | None:
    nodes, each = read.nodes(), read.integer("devices_per_node")
    of_nodes = nodes * each if nodes and each else None
    return read.devices() or read.integer("ranks") or of_nodes
