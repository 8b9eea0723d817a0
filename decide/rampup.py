"""Batch-size ramp-up: its steps and time, and what the batch has to be a multiple of.

As Megatron's `--rampup-batch-size START INCREMENT SAMPLES`: SAMPLES are shared evenly by the stages
below the whole batch, each INCREMENT larger than the previous.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..schema.errors import BenchError
from ..schema.warehouse import Row
from .budget import SECONDS_A_DAY, Budget
from .provenance import Derivation, Number, input_number

Stage = tuple[int, int, int, float | None]  # batch, replicas, devices, nodes


@dataclass(frozen=True, slots=True)
class RampUp:
    """The first batch, what each stage adds, both in sequences, and the samples of all stages."""

    start: int
    increment: int
    samples: int

    def stages(self, whole: int) -> list[int]:
        """The batches below the whole one."""
        return list(range(self.start, whole, self.increment))

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The three numbers of the option."""
        values = {"start": self.start, "increment": self.increment, "samples": self.samples}
        note = "as requested with --ramp-up"
        return tuple(input_number(name, value, "sequences", note) for name, value in values.items())


def parse_ramp_up(text: str) -> RampUp:
    """`32,32,1953125`, in the order of Megatron; raises BenchError for anything else."""
    match = re.fullmatch(r"\s*(\d{1,9})[\s,]+(\d{1,9})[\s,]+(\d{1,15})\s*", text)
    if not match or not all(map(int, match.groups())):
        raise BenchError(
            f"invalid ramp-up {text!r}", why="it is START,INCREMENT,SAMPLES, all above zero",
            hint="--ramp-up 32,32,1953125",
        )  # fmt: skip
    return RampUp(*map(int, match.groups()))


def forbids(row: Row, ramp: RampUp) -> str | None:
    """Why a configuration cannot ramp up so, if it cannot."""
    mbs, dp, gbs = row["mbs"], row["dp"], row["gbs"]
    if not (mbs and dp and gbs and row["seq_len"] and row["step_time_s"]):
        return "ramp-up: MBS, DP, GBS, sequence length or step time is not stated"
    for name, batch in (("start", ramp.start), ("increment", ramp.increment)):
        if batch % (mbs * dp):
            return f"ramp-up: {name} {batch} is no multiple of MBS x DP = {mbs} x {dp}"
    if gbs <= ramp.start or (gbs - ramp.start) % ramp.increment:
        return f"ramp-up: steps of {ramp.increment} from {ramp.start} do not meet GBS {gbs}"
    return None


def spent(row: Row, ramp: RampUp) -> tuple[float, float]:
    """Steps and seconds of the ramp-up.

    A step of a smaller batch takes (m + (p - 1) / v) slots, m micro-batches of p stages in v chunks
    (arXiv 2104.04473 section 2.2).
    """
    # In slots of one micro-batch: stages wait as long for 8 of them as for 512.
    wait = ((row["pp"] or 1) - 1) / (row["vpp"] or 1)
    one = row["mbs"] * row["dp"]
    stages = ramp.stages(row["gbs"])
    steps = [ramp.samples / len(stages) / batch for batch in stages]
    whole = row["gbs"] / one + wait
    times = [row["step_time_s"] * (batch / one + wait) / whole for batch in stages]
    return sum(steps), sum(n * time for n, time in zip(steps, times, strict=True))


def schedule(row: Row, ramp: RampUp) -> list[Stage]:
    """For each doubling of the batch: the batch, and the replicas, devices and nodes it feeds at
    most; nodes are None where a node's devices are not known."""
    replica = (row["tp"] or 1) * (row["pp"] or 1) * (row["cp"] or 1)
    per_node = row["device_count"] / row["nodes"] if row["nodes"] and row["device_count"] else None
    found = []
    for batch in _doublings(ramp, row["gbs"]):
        devices = batch // row["mbs"] * replica
        nodes = max(devices / per_node, 1) if per_node else None
        found.append((batch, batch // row["mbs"], devices, nodes))
    return found


def _doublings(ramp: RampUp, whole: int) -> Iterator[int]:
    batch = ramp.start
    while batch < whole:
        yield batch
        batch *= 2
    yield whole


def days_from(ramp: RampUp, budget: Budget, row: Row) -> Derivation:
    """The derivation of days with a ramp-up of the batch."""
    if budget.tokens is None:
        words = f"(steps - ramp_up_steps) x step_time_s / {SECONDS_A_DAY} / goodput + ramp_up_days"
        inputs = (budget.number, "step_time_s", "ramp_up_steps", "ramp_up_days")
        return Derivation(formula="D1", expression=words, inputs=inputs, unit="days")
    derivation = Derivation(expression="samples x seq_len", inputs=ramp.numbers, unit="tokens")
    tokens = Number("ramp_up_tokens", ramp.samples * row["seq_len"], derivation)
    words = f"(tokens - ramp_up_tokens) / tokens_per_s / {SECONDS_A_DAY} / goodput + ramp_up_days"
    of = (budget.number, tokens, "tokens_per_s", "ramp_up_days")
    return Derivation(formula="D1", expression=words, inputs=of, unit="days")


def ramp_up_derivations(ramp: RampUp, row: Row, lasts: str) -> dict[str, Derivation]:
    """The derivations of the steps and days of a ramp-up, which `lasts` so many seconds."""
    stages = ramp.stages(row["gbs"])
    many = input_number("stages", len(stages), note=f"{stages[0]} to {stages[-1]}")
    return {
        "ramp_up_steps": Derivation(
            expression="sum over stages of samples / stages / batch",
            inputs=(*ramp.numbers, many), unit="steps",
        ),
        "ramp_up_days": Derivation(
            expression="sum over stages of steps x step_time_s x (m + (p - 1) / v)"
            f" / (m_whole + (p - 1) / v) / {SECONDS_A_DAY} / goodput",
            inputs=("ramp_up_steps", "step_time_s", "goodput"), unit="days",
            source="arXiv 2104.04473 section 2.2", counts=lasts,
        ),
    }  # fmt: skip
