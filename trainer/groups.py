"""The grid's process groups, and the collectives used by the trainer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from .grid import Grid, GridError, RankCoordinates

# Names of torch 2.13; up to 2.12 they were named after tensors.
NEW = hasattr(dist, "all_gather_single")
GATHER = getattr(dist, "all_gather_single" if NEW else "all_gather_into_tensor")
SCATTER = getattr(dist, "reduce_scatter_single" if NEW else "reduce_scatter_tensor")


@dataclass(frozen=True, slots=True)
class Pending:
    """An asynchronous collective: its result is valid after `wait`."""

    result: Tensor
    work: dist.Work | None = None

    def wait(self) -> Tensor:
        """Wait for the result."""
        if self.work is not None:
            self.work.wait()
        return self.result


@dataclass(frozen=True, slots=True)
class Group:
    """A process group: its ranks, this rank's index among them, and its handle."""

    size: int
    rank: int
    handle: dist.ProcessGroup

    def sum(self, x: Tensor) -> Tensor:
        """Sum over all ranks, in place."""
        return self.begin_sum(x).wait()

    def begin_sum(self, x: Tensor) -> Pending:
        """Start a sum over all ranks, in place."""
        if self.size == 1:
            return Pending(x)
        return Pending(x, dist.all_reduce(x, group=self.handle, async_op=True))

    def max(self, x: Tensor) -> Tensor:
        """Maximum over all ranks, in place."""
        if self.size > 1:
            dist.all_reduce(x, op=dist.ReduceOp.MAX, group=self.handle)
        return x

    def gather(self, x: Tensor) -> Tensor:
        """The pieces of all ranks, concatenated in dimension 0."""
        if self.size == 1:
            return x
        whole = x.new_empty((x.shape[0] * self.size, *x.shape[1:]))
        GATHER(whole, x.contiguous(), group=self.handle)
        return whole

    def exchange(self, x: Tensor, send: list[int], receive: list[int]) -> Tensor:
        """All-to-all of rows in dimension 0, with the numbers to send and to receive by rank."""
        if self.size == 1:
            return x
        found = x.new_empty((sum(receive), *x.shape[1:]))
        dist.all_to_all_single(found, x.contiguous(), receive, send, group=self.handle)
        return found

    def sum_scatter(self, x: Tensor) -> Tensor:
        """This rank's piece, in dimension 0, of the sum over all ranks."""
        return self.begin_sum_scatter(x).wait()

    def begin_sum_scatter(self, x: Tensor) -> Pending:
        """Start a `sum_scatter`."""
        if self.size == 1:
            return Pending(x)
        piece = x.new_empty((x.shape[0] // self.size, *x.shape[1:]))
        return Pending(piece, SCATTER(piece, x.contiguous(), group=self.handle, async_op=True))


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of one rank."""

    grid: Grid
    place: RankCoordinates
    world: Group
    replicas: Group
    tensor: Group
    context: Group
    experts: Group  # ranks with the other experts of the same layers
    expert_replicas: Group  # ranks with the same experts
    pipeline: Group
    embedding: Group | None  # only of first and last stage, if these differ


def connect(grid: Grid) -> Groups:
    """Create the groups of the initialised world; every rank takes part in each creation."""
    grid.fill(dist.get_world_size())
    me = dist.get_rank()

    singles: dict[int, dist.ProcessGroup] = {}

    def made(ranks: list[int]) -> dist.ProcessGroup:
        """A new group; groups of a single rank share one handle."""
        handle: dist.ProcessGroup | None = singles.get(ranks[0]) if len(ranks) == 1 else None
        if handle is None:
            handle = dist.new_group(ranks)
            if len(ranks) == 1:
                singles[ranks[0]] = handle
        return handle

    def mine(members: list[list[int]]) -> Group | None:
        found = None
        for ranks in members:
            handle = made(ranks)
            if me in ranks:
                found = Group(len(ranks), ranks.index(me), handle)
        return found

    def shared(members: list[list[int]]) -> Group:
        found = mine(members)
        assert found, "every rank is in one group of each kind"
        return found

    assert dist.group.WORLD
    replicas = shared(grid.replica_groups())
    return Groups(
        grid,
        grid.place(me),
        world=Group(grid.world, me, dist.group.WORLD),
        replicas=replicas,
        tensor=shared(grid.groups("tensor")),
        context=shared(grid.groups("context")),
        experts=shared(grid.expert_groups()),
        expert_replicas=shared(grid.expert_replica_groups()) if grid.ep > 1 else replicas,
        pipeline=shared(grid.groups("pipeline")),
        embedding=mine(grid.embedding_groups()) if grid.pp > 1 else None,
    )


def device(wanted: str, local_rank: int, local_ranks: int) -> torch.device:
    """The device of this rank: one GPU each, or the processor."""
    if wanted == "cpu" or (wanted == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    found = torch.cuda.device_count()
    if local_ranks > found:
        raise GridError(
            f"{local_ranks} processes on this machine need a GPU each, but it has {found}: take "
            f"fewer processes, or --device cpu"
        )
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)
