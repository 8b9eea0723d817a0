"""Logged intervals, for the rules that check the lines of a log against each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from .input import AuditInput

_QUERY = """
    SELECT r.uri, i.run_id, i.segment, i.iteration, coalesce(i.interval_length, 1), i.line,
        i.step_time_s, i.samples_per_s, i.tokens_per_s, i.tflops, i.consumed_samples,
        i.consumed_tokens, i.gbs, i.seq_len
    FROM iterations i JOIN runs r USING (run_id)
    WHERE r.origin = 'log' AND r.uri IN (SELECT unnest($uris::VARCHAR[]))
    ORDER BY r.uri, r.line, i.line"""


class Step(NamedTuple):
    """One logged interval."""

    uri: str
    run_id: str
    segment: int
    iteration: int
    length: int
    line: int
    time: float | None
    samples: float | None
    tokens: float | None
    tflops: float | None
    consumed: int | None
    consumed_tokens: int | None
    gbs: int | None
    seq_len: int | None


@dataclass(frozen=True, slots=True)
class Log:
    """A run of a log: the settings of its header, and its intervals."""

    uri: str
    run_id: str
    gbs: int | None
    seq_len: int | None
    world: int | None
    steps: tuple[Step, ...]


def logs(data: AuditInput) -> Iterator[Log]:
    """Every run of a log that the data covers, in order."""
    wanted = [document.uri for document in data.documents]
    head = {
        run_id: (uri, gbs, seq_len, world)
        for run_id, uri, gbs, seq_len, world in data.warehouse.rows(
            "SELECT run_id, uri, gbs, seq_len, world_size FROM configurations WHERE origin = 'log'"
        )
    }
    steps = map(Step._make, data.warehouse.rows(_QUERY, {"uris": wanted}))
    for run_id, found in groupby(steps, key=attrgetter("run_id")):
        if run_id in head:
            uri, gbs, seq_len, world = head[run_id]
            yield Log(uri, run_id, gbs, seq_len, world, tuple(found))
