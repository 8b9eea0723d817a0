"""Whether TFLOPs without a stated scope are of the job, by arithmetic; else they are of a device.

A token takes 6 to 12 FLOPs per parameter, and a device does not exceed its peak.
A row has to print its tokens per second or its MFU: TFLOPs above the peak alone are an error as
well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...vocabulary.heading_words import is_per_device
from ...vocabulary.headings import columns_of
from .rate_scope import RATE, KnownValues, known_of, plausible
from .results import Result
from .row import PublishedRow

_ROUGH = 0.25  # of a peak that the author may have taken from another data sheet
_METRIC, _OF_JOB = "tflops", "aggregate_pflops"


def flops_settled(
    headings: Sequence[str],
    rows: Sequence[PublishedRow],
    measured: Sequence[Sequence[Result]],
) -> list[list[Result]]:
    """The results of each row; TFLOPs become the job's if every row that decides agrees."""
    kept = [list(results) for results in measured]
    if not _is_bare(headings):
        return kept
    votes = {
        vote
        for read, results in zip(rows, kept, strict=True)
        if (vote := _of_job(read, results)) is not None
    }
    if votes != {True}:
        return kept
    return [[_as_of_job(result) for result in results] for results in kept]


def _is_bare(headings: Sequence[str]) -> bool:
    """Whether one column is of TFLOPs, none of the job's, and its heading names no device."""
    pairs = zip(headings, columns_of(headings), strict=True)
    named = {column.name: heading for heading, column in pairs if column}
    heading = named.get("tflops")
    return heading is not None and "agg_pflops" not in named and not is_per_device(heading)


def _of_job(read: PublishedRow, results: Sequence[Result]) -> bool | None:
    """Whether the row is consistent only with TFLOPs of the job; None if with both or neither."""
    values = {result.metric: result.value for result in results}
    printed = values.pop(_METRIC, None)
    known = known_of(read, values)
    tokens = values.get(f"{RATE}_per_device")
    if not printed or known is None or known.devices == 1:
        return None
    if known.peak and (share := values.get("mfu")):
        of_peak = printed / (share * known.peak)
        votes = [math.isclose(of_peak, count, rel_tol=_ROUGH) for count in (1, known.devices)]
        return votes[1] if any(votes) else None
    if not tokens or not known.params_b:
        return None
    each, job = _fits(printed, known, tokens), _fits(printed / known.devices, known, tokens)
    return job if each != job else None


def _fits(each: float, known: KnownValues, tokens: float) -> bool:
    """Whether TFLOP/s of a device are consistent with its tokens per second and its peak."""
    of_token = each * 1e3 / tokens / (known.params_b or 1)
    return plausible(of_token, known) and not (known.peak and each > known.peak)


def _as_of_job(result: Result) -> Result:
    if result.metric != _METRIC:
        return result
    value, low, high = (number / 1e3 for number in (result.value, result.low, result.high))
    return replace(
        result, metric=_OF_JOB, unit="PFLOP/s", value=value, low=low, high=high, scope="job"
    )
