"""The one object that knows the grid: DP x TP x PP processes, who stands where, what fits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from .presets import Shape


class GridError(ValueError):
    """Sizes that do not multiply out, with the numbers."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one rank stands."""

    data: int
    tensor: int
    pipeline: int


@dataclass(frozen=True, slots=True)
class Grid:
    """Sizes of the three axes. Neighbouring ranks share tensors, then data, then the pipeline."""

    dp: int = 1
    tp: int = 1
    pp: int = 1

    def __post_init__(self) -> None:
        for name, size in (("DP", self.dp), ("TP", self.tp), ("PP", self.pp)):
            if size < 1:
                raise GridError(f"{name} is {size}: every size is at least 1")

    def __str__(self) -> str:
        return f"DP({self.dp})-TP({self.tp})-PP({self.pp})"

    @property
    def world(self) -> int:
        """How many processes the grid has."""
        return self.dp * self.tp * self.pp

    def fill(self, world: int) -> None:
        """Refuse a number of processes that is not the grid's."""
        if world != self.world:
            raise GridError(
                f"the world has {world} processes, but DP {self.dp} x TP {self.tp} x PP {self.pp} "
                f"= {self.world}"
            )

    def place(self, rank: int) -> Place:
        """Where this rank stands."""
        if not 0 <= rank < self.world:
            raise GridError(f"rank {rank} is outside of {self}, which has {self.world} processes")
        return Place(rank // self.tp % self.dp, rank % self.tp, rank // (self.tp * self.dp))

    def rank(self, place: Place) -> int:
        """Who stands there."""
        return (place.pipeline * self.dp + place.data) * self.tp + place.tensor

    def data_groups(self) -> list[list[int]]:
        """Ranks that hold the same parameters and see other samples."""
        return [
            [self.rank(Place(d, t, p)) for d in range(self.dp)]
            for p, t in product(range(self.pp), range(self.tp))
        ]

    def tensor_groups(self) -> list[list[int]]:
        """Ranks that share every layer of one stage."""
        return [
            [self.rank(Place(d, t, p)) for t in range(self.tp)]
            for p, d in product(range(self.pp), range(self.dp))
        ]

    def pipeline_groups(self) -> list[list[int]]:
        """Ranks that hand activations on, first stage first."""
        return [
            [self.rank(Place(d, t, p)) for p in range(self.pp)]
            for d, t in product(range(self.dp), range(self.tp))
        ]

    def embedding_groups(self) -> list[list[int]]:
        """First and last stage: both hold the one embedding."""
        return [[ranks[0], ranks[-1]] for ranks in self.pipeline_groups()]

    def layers_of(self, stage: int, layers: int) -> range:
        """The layers that this stage holds."""
        share = layers // self.pp
        return range(stage * share, (stage + 1) * share)

    def fit(self, shape: Shape, sequence_parallel: bool = False) -> None:
        """Refuse a model that the grid cannot cut into equal parts."""
        if shape.heads % self.tp:
            raise GridError(
                f"{shape.heads} heads do not divide among TP {self.tp}: "
                f"{shape.heads} % {self.tp} = {shape.heads % self.tp}"
            )
        if shape.kv % self.tp:
            raise GridError(
                f"{shape.kv} heads of keys and values do not divide among TP {self.tp}: "
                f"{shape.kv} % {self.tp} = {shape.kv % self.tp}"
            )
        if shape.ffn % self.tp:
            raise GridError(
                f"an MLP of {shape.ffn} does not divide among TP {self.tp}: "
                f"{shape.ffn} % {self.tp} = {shape.ffn % self.tp}"
            )
        if shape.layers % self.pp:
            raise GridError(
                f"{shape.layers} layers do not divide among PP {self.pp}: "
                f"{shape.layers} % {self.pp} = {shape.layers % self.pp}"
            )
        if sequence_parallel and self.tp == 1:
            raise GridError("sequence parallelism shares the sequence among TP ranks, but TP is 1")
        if sequence_parallel and shape.seq_len % self.tp:
            raise GridError(
                f"a sequence of {shape.seq_len} does not divide among TP {self.tp}: "
                f"{shape.seq_len} % {self.tp} = {shape.seq_len % self.tp}"
            )

    def micro_batches(self, gbs: int, mbs: int, schedule: str = "gpipe") -> int:
        """How many micro-batches each replica works through in one step."""
        if mbs < 1 or gbs < 1:
            raise GridError(f"MBS is {mbs} and GBS is {gbs}: both are at least 1")
        together = mbs * self.dp
        if gbs % together:
            raise GridError(
                f"GBS {gbs} does not divide by MBS {mbs} x DP {self.dp}: "
                f"{gbs} % {together} = {gbs % together}"
            )
        count = gbs // together
        if schedule == "1f1b" and count < self.pp:
            raise GridError(
                f"1F1B keeps all {self.pp} stages busy and needs as many micro-batches, but GBS "
                f"{gbs} / (MBS {mbs} x DP {self.dp}) = {count}: try a GBS of "
                f"{together * self.pp}, or the schedule gpipe"
            )
        return count

    def allow_zero(self, stage: int) -> None:
        """Refuse ZeRO-2 and 3 beside pipeline stages."""
        if stage >= 2 and self.pp > 1:
            raise GridError(
                f"ZeRO-{stage} with PP {self.pp}: ZeRO-2 and 3 reduce the gradients of every "
                "micro-batch at once, a pipeline has several micro-batches under way and needs "
                "whole gradients to the end of the step; take ZeRO-1, or PP 1"
            )
