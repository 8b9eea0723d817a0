"""The trainer with a collective left out, by what then goes wrong: losses must show each."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any


def own_gradients(self: Any, x: Any) -> Any:
    return importlib.import_module("bench.trainer.groups").Pending(x)


def after_the_first(self: Any, view: Any, expected: int, complete: Any, parameter: Any) -> None:
    """Sums begin with the gradients of the first micro-batch."""
    self.arrived += 1
    if self.arrived == len(self.parameters):
        complete(self)


def as_it_comes(ctx: Any, gradient: Any) -> tuple[Any, None]:
    return gradient, None


def own_share_only(ctx: Any, x: Any, tensors: Any) -> Any:
    ctx.tensors = tensors
    return x.clone()


def own_largest(self: Any, x: Any) -> Any:
    return x


def own_samples_only(self: Any, x: Any) -> Any:
    piece = x.chunk(self.size)[self.rank]
    return importlib.import_module("bench.trainer.groups").Pending(piece)


def own_queries_only(self: Any, x: Any) -> Any:
    return self.part(x, 2) * 1.0


def all_replicas(self: Any, groups: Any) -> Any:
    return groups.replicas


def nothing_back(ctx: Any, gradient: Any) -> tuple[Any, None, None, None]:
    return gradient.new_zeros((sum(ctx.counts[1]), *gradient.shape[1:])), None, None, None


def cut_everywhere(name: str) -> int:
    return 0


def without_tie(grid: Any) -> Any:
    groups = importlib.import_module("bench.trainer.groups").connect(grid)
    return replace(groups, embedding=None)


def without_gather(self: Any) -> None:
    self.optimizer.step()


def kept_apart(self: Any) -> None:
    pass


def softmax(sums: bool, picks: bool) -> Any:
    """The vocabulary's cross entropy without one of its two sums over the ranks."""

    def forward(ctx: Any, logits: Any, rows: Any, here: Any, real: int, group: Any) -> Any:
        z = logits.detach().float()
        z[:, real:] = float("-inf")
        z -= group.max(z.amax(1)).unsqueeze(1)
        picked = z.gather(1, rows.unsqueeze(1)).squeeze(1).where(here, 0.0)
        total = z.exp_().sum(1)
        total = group.sum(total) if sums else total
        picked = group.sum(picked) if picks else picked
        ctx.save_for_backward(z, total, rows, here)
        ctx.dtype = logits.dtype
        return (total.log() - picked).mean()

    return staticmethod(forward)


class OwnGradients:
    """In place of FSDP's reduce-scatter: as large as the sum, and of this rank's samples alone."""

    def allocate(self, size: Any, *, dtype: Any, device: Any) -> Any:
        return importlib.import_module("torch").empty(*size, dtype=dtype, device=device)

    def __call__(self, *, output_tensor: Any, input_tensor: Any, group: Any, **how: Any) -> None:
        output_tensor.copy_(input_tensor.chunk(group.size())[group.rank()])
        if "SUM" in str(how.get("op")):
            output_tensor.mul_(group.size())


class OwnParameters(OwnGradients):
    """In place of FSDP's all-gather: this rank's shard where those of the others belong."""

    def __call__(self, *, output_tensor: Any, input_tensor: Any, group: Any, **how: Any) -> None:
        output_tensor.copy_(input_tensor.repeat(group.size()))


def sharded(setter: str, comm: object) -> Any:
    """FSDP with a collective of its own."""

    def fully_shard(module: Any, **how: Any) -> Any:
        fsdp = importlib.import_module("torch.distributed.fsdp")
        getattr(fsdp.fully_shard(module, **how), setter)(comm)

    return fully_shard


FORWARD = "tensor.CrossEntropy.forward"
REDUCE = sharded("set_custom_reduce_scatter", OwnGradients())
GATHER = sharded("set_custom_all_gather", OwnParameters())
MIXTURE = "--preset moe-nano"
MUTANTS: dict[str, tuple[str, str, Callable[..., object]]] = {
    "replicas are not summed": ("--dp 2", "groups.Group.begin_sum", own_gradients),
    "sums begin before the last micro-batch": (
        "--dp 2 --overlap-grad-reduce --bucket-size 20000",
        "flat.FlatBuffer._arrive",
        after_the_first,
    ),
    "the way in is not summed backward": (
        "--tp 2 --mbs 2",
        "tensor.EnterTensorParallel.backward",
        staticmethod(as_it_comes),
    ),
    "the way out is not summed": (
        "--tp 2 --mbs 2",
        "tensor.LeaveTensorParallel.forward",
        staticmethod(own_share_only),
    ),
    "each rank has a largest logit of its own": ("--tp 2 --mbs 2", "groups.Group.max", own_largest),
    "keys hear of their own queries alone": (
        "--cp 2 --mbs 2",
        "context.Contexts.sum_of_parts",
        own_queries_only,
    ),
    "experts are summed as if all ranks had the same": (
        f"{MIXTURE} --dp 2 --ep 2",
        "flat.Part.replicas",
        all_replicas,
    ),
    "tokens hear nothing of experts elsewhere": (
        f"{MIXTURE} --dp 2 --ep 2",
        "experts.ExchangeTokens.backward",
        staticmethod(nothing_back),
    ),
    "norms are not summed over the sequence": (
        "--tp 2 --sequence-parallel --mbs 2",
        "flat.cut_of",
        cut_everywhere,
    ),
    "the two embeddings go apart": ("--pp 2", "loop.connect", without_tie),
    "shards are not reduced": (
        "--dp 2 --zero 1",
        "groups.Group.begin_sum_scatter",
        own_samples_only,
    ),
    "shards are not gathered": ("--dp 2 --zero 1", "data.Replicated.step", without_gather),
    "each rank has a softmax of its own": ("--tp 2 --mbs 2", FORWARD, softmax(False, True)),
    "the logit of the target is not summed": ("--tp 2 --mbs 2", FORWARD, softmax(True, False)),
    "ZeRO-2 does not reduce gradients": ("--dp 2 --zero 2", "sharded.fully_shard", REDUCE),
    "ZeRO-3 does not reduce gradients": ("--dp 2 --zero 3", "sharded.fully_shard", REDUCE),
    "ZeRO-2 does not gather parameters": ("--dp 2 --zero 2", "sharded.fully_shard", GATHER),
    "ZeRO-3 does not gather parameters": ("--dp 2 --zero 3", "sharded.fully_shard", GATHER),
    "ZeRO-2 does not sum norms over the sequence": (
        "--tp 2 --sequence-parallel --zero 2 --mbs 2",
        "sharded.Sharded.reduce",
        kept_apart,
    ),
}
