"""The process grid: axes, coordinates of ranks, checks of divisibility."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from .presets import Shape


class GridError(ValueError):
    """An invalid combination of sizes; the message has the numbers."""


AXES = ("tensor", "context", "data", "pipeline")  # adjacent ranks differ in the first


@dataclass(frozen=True, slots=True)
class RankCoordinates:
    """The coordinates of a rank."""

    data: int
    tensor: int
    pipeline: int
    context: int = 0


@dataclass(frozen=True, slots=True)
class Grid:
    """Sizes of the axes. Adjacent ranks differ in tensor, then context, data, pipeline parallelism.

    Expert parallelism adds no ranks: adjacent ones of the DP x CP ranks with the same layers divide
    the experts. Nor do virtual stages: each rank has `vpp` of them.
    """

    dp: int = 1
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    vpp: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            if (size := getattr(self, field.name)) < 1:
                raise GridError(f"{field.name.upper()} is {size}: every size is at least 1")

    def __str__(self) -> str:
        return "-".join(f"{name}({size})" for name, size in self._sizes_by_name(5))

    def _sizes_by_name(self, count: int) -> list[tuple[str, int]]:
        """Sizes by name, without unused optional ones."""
        sizes = [(field.name.upper(), getattr(self, field.name)) for field in fields(self)]
        return sizes[:3] + [size for size in sizes[3:count] if size[1] > 1]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the axes, in the order of `AXES`."""
        return self.tp, self.cp, self.dp, self.pp

    @property
    def world(self) -> int:
        """The number of processes."""
        return math.prod(self.sizes)

    @property
    def replicas(self) -> int:
        """The number of ranks with the same parameters and other samples or parts of them."""
        return self.dp * self.cp

    @property
    def stages(self) -> int:
        """The number of stages, including virtual ones."""
        return self.pp * self.vpp

    def fill(self, world: int) -> None:
        """Refuse another number of processes than the grid's."""
        if world != self.world:
            product = " x ".join(f"{name} {size}" for name, size in self._sizes_by_name(4))
            raise GridError(f"the world has {world} processes, but {product} = {self.world}")

    def place(self, rank: int) -> RankCoordinates:
        """The coordinates of a rank."""
        if not 0 <= rank < self.world:
            raise GridError(f"rank {rank} is outside of {self}, which has {self.world} processes")
        found = {}
        for axis, size in zip(AXES, self.sizes, strict=True):
            rank, found[axis] = divmod(rank, size)
        return RankCoordinates(**found)

    def rank(self, place: RankCoordinates) -> int:
        """The rank at these coordinates."""
        rank = 0
        for axis, size in reversed(list(zip(AXES, self.sizes, strict=True))):
            rank = rank * size + int(getattr(place, axis))
        return rank

    def groups(self, *axes: str) -> list[list[int]]:
        """Groups of ranks that differ only in these axes."""
        found: dict[tuple[int, ...], list[int]] = {}
        for rank in range(self.world):
            place = self.place(rank)
            alike = tuple(getattr(place, axis) for axis in AXES if axis not in axes)
            found.setdefault(alike, []).append(rank)
        return list(found.values())

    def replica_groups(self) -> list[list[int]]:
        """Groups of ranks with the same parameters (except experts) and other tokens."""
        return self.groups("context", "data")

    def expert_groups(self) -> list[list[int]]:
        """Groups of ranks that together have all experts of their layers, and exchange tokens."""
        return [
            ranks[start : start + self.ep]
            for ranks in self.replica_groups()
            for start in range(0, len(ranks), self.ep)
        ]

    def expert_replica_groups(self) -> list[list[int]]:
        """Groups of ranks with the same experts."""
        return [ranks[n :: self.ep] for ranks in self.replica_groups() for n in range(self.ep)]

    def embedding_groups(self) -> list[list[int]]:
        """Groups of first and last stage, which share the embedding."""
        return [[ranks[0], ranks[-1]] for ranks in self.groups("pipeline")]

    def stages_of(self, rank: int) -> range:
        """The stages of a pipeline rank."""
        return range(rank, self.stages, self.pp)

    def layers_of(self, stage: int, layers: int) -> range:
        """The layers of a stage."""
        share = layers // self.stages
        return range(stage * share, (stage + 1) * share)

    def fit(self, shape: Shape, sequence_parallel: bool = False) -> None:
        """Refuse a model that the grid cannot divide into equal parts."""
        among_tp, sequence = f"among TP {self.tp}", f"a sequence of {shape.seq_len} does not divide"
        _divide(shape.heads, self.tp, f"{shape.heads} heads do not divide {among_tp}")
        kv = f"{shape.kv} heads of keys and values do not divide {among_tp}"
        _divide(shape.kv, self.tp, kv)
        _divide(shape.ffn, self.tp, f"an MLP of {shape.ffn} does not divide {among_tp}")
        stages = f"PP {self.pp}" + (f" x VPP {self.vpp}" if self.vpp > 1 else "")
        _divide(shape.layers, self.stages, f"{shape.layers} layers do not divide among {stages}")
        if self.vpp > 1 and self.pp == 1:
            raise GridError(f"VPP {self.vpp} interleaves the stages of a pipeline, but PP is 1")
        if self.ep > 1 and not shape.experts:
            raise GridError(f"EP {self.ep} shares out experts, but the model has none")
        if self.ep > 1:
            _divide(
                shape.mixture, self.ep, f"{shape.experts} experts do not divide among EP {self.ep}"
            )
        replicas = f"DP {self.dp} x CP {self.cp} = {self.replicas}"
        _divide(self.replicas, self.ep, f"{replicas} does not divide into groups of EP {self.ep}")
        if sequence_parallel and self.tp == 1:
            raise GridError("sequence parallelism shares the sequence among TP ranks, but TP is 1")
        if self.cp > 1:
            pieces = f"into two pieces for each of CP {self.cp}"
            _divide(shape.seq_len, 2 * self.cp, f"{sequence} {pieces}")
        if sequence_parallel:
            _divide(shape.seq_len // self.cp, self.tp, f"{sequence} {among_tp}")

    def micro_batches(self, gbs: int, mbs: int, schedule: str = "gpipe") -> int:
        """The number of micro-batches per replica and step."""
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
        if self.vpp > 1 and (schedule == "gpipe" or count % self.pp):
            raise GridError(
                f"VPP {self.vpp} is interleaved 1F1B, in rounds of PP {self.pp} micro-batches, but "
                f"the schedule is {schedule} and GBS {gbs} / (MBS {mbs} x DP {self.dp}) = {count}"
            )
        return count

    def allow_zero(self, stage: int) -> None:
        """Refuse ZeRO-2 and 3 with pipeline stages."""
        if stage >= 2 and self.pp > 1:
            raise GridError(
                f"ZeRO-{stage} with PP {self.pp}: ZeRO-2 and 3 reduce the gradients of every "
                "micro-batch at once, a pipeline has several micro-batches under way and needs "
                "whole gradients to the end of the step; take ZeRO-1, or PP 1"
            )


def _divide(size: int, by: int, otherwise: str) -> None:
    if size % by:
        raise GridError(f"{otherwise}: {size} % {by} = {size % by}")
