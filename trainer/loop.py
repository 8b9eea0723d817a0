"""The training loop of one rank. Rank 0 prints for all."""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

import torch
import torch.distributed as dist
from torch import Tensor
from torch.cuda import nccl

from . import energy, environment, log
from .data import Replicas, replicas
from .groups import Groups, connect, device
from .model import Stage
from .options import Options, allow_kernel
from .pipeline import ForwardBackward, passes
from .samples import batch
from .spawn import cores
from .timers import Timers

MB = 1024 * 1024


def train(options: Options) -> list[log.Step]:
    """All steps of a run."""
    return list(steps(options))


def steps(options: Options) -> Iterator[log.Step]:
    """Run and print all steps. Initialises the world if needed."""
    where = prepare(options)
    if not dist.is_initialized():
        dist.init_process_group("nccl" if where.type == "cuda" else "gloo")
    groups = connect(options.grid)
    if groups.world.rank == 0:
        print_start(options, where)
    stages = [
        Stage(options, groups, number).to(where)
        for number in options.grid.stages_of(groups.place.pipeline)
    ]
    print_model(options, groups, stages)
    timers = Timers(where)
    copies, work = replicas(stages, timers), passes(stages, where)
    # Counters are shared by the processes of a node, and exclude accelerators.
    node = energy.meter() if where.type == "cpu" else energy.Meter(())
    node.take()
    for iteration in range(1, options.iters + 1):
        step = _step(options, groups, copies, work, timers, iteration, where)
        joules = node.take()
        if joules is not None:
            step = replace(step, joules=joules / int(os.environ["LOCAL_WORLD_SIZE"]))
        print_step(options, groups, step, timers, where)
        yield step
    finish(groups, where)


def prepare(options: Options) -> torch.device:
    """Set device and threads of this rank."""
    local, locals_ = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    where = device(options.device, local, locals_)
    allow_kernel(options.attention, where.type, options.dtype)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, cores() // locals_))
    return where


def finish(groups: Groups, where: torch.device) -> None:
    """Synchronize all ranks, and print the end of the training."""
    groups.world.sum(torch.zeros(1, device=where))
    if groups.world.rank == 0:
        print(log.phase_line(log.DONE, datetime.now()), flush=True)


def _step(
    options: Options,
    groups: Groups,
    copies: Replicas,
    work: ForwardBackward,
    timers: Timers,
    iteration: int,
    where: torch.device,
) -> log.Step:
    """Forward, backward, reduction, update. All ranks get the same numbers."""
    timers.synchronize()
    start = time.perf_counter()
    tokens, targets = batch(options, groups, iteration, where)
    copies.clear()
    with timers("forward-backward"):
        mine = work.run(tokens, targets)
    copies.reduce()
    with timers("optimizer-clip-main-grad"):
        loss, norm = _agree(mine, copies, groups)
        healthy = math.isfinite(norm)
        if healthy and 0 < options.clip_grad < norm:
            for grad, _ in copies.gradients():
                grad *= options.clip_grad / (norm + 1e-6)
    if healthy:
        copies.step()
    timers.synchronize()
    seconds = time.perf_counter() - start
    nan = not math.isfinite(loss)
    return log.Step(iteration, seconds, loss, norm if healthy else None, not healthy, nan)


def _agree(mine: Tensor, copies: Replicas, groups: Groups) -> tuple[float, float]:
    """Mean loss of the whole batch and norm of all gradients, without duplicates."""
    squares = torch.zeros((), device=mine.device)
    for grad, holders in copies.gradients():
        squares += torch.linalg.vector_norm(grad) ** 2 / holders
    # All tensor-parallel ranks of the last stage have the same loss, other stages have 0.
    share = mine / (groups.replicas.size * groups.tensor.size)
    loss, total = groups.world.sum(torch.stack([share, squares])).tolist()
    return loss, math.sqrt(total) if total >= 0 else math.nan


def print_start(
    options: Options, where: torch.device, more: Mapping[str, object] = MappingProxyType({})
) -> None:
    """Print world size, arguments (with `more`) and environment on rank 0."""
    threads = torch.get_num_threads()
    versions: dict[str, str | None] = {"torch": torch.__version__, "cuda": torch.version.cuda}
    gpus = []
    if where.type == "cuda":
        versions["nccl"] = ".".join(map(str, nccl.version()))  # type: ignore[no-untyped-call]  # untyped there
        for index in range(torch.cuda.device_count()):
            card = torch.cuda.get_device_properties(index)
            gpus.append(f"{card.name}, {card.total_memory // MB} MB")
    print(log.world_line(options))
    print(f"using {log.TORCH[options.params_dtype]} for parameters ...")
    values = {**log.arguments(options, torch.__version__, where.type, threads), **more}
    print(log.arguments_block(values))
    print(environment.line(versions, threads, gpus), flush=True)


def print_model(options: Options, groups: Groups, stages: list[Stage]) -> None:
    """Print parameters by model-parallel rank, from the first replica."""
    place = groups.place
    count = sum(p.numel() for stage in stages for p in stage.parameters())
    mine = (groups.replicas.rank, (place.tensor, place.pipeline), count)
    gathered: list[tuple[int, tuple[int, int], int]] = [mine] * options.grid.world
    dist.all_gather_object(gathered, mine)
    if groups.world.rank == 0:
        first = {rank: count for replica, rank, count in gathered if replica == 0}
        print(log.model_lines(options, first))
        print("training ...")
        print(log.phase_line(log.STARTED, datetime.now()), flush=True)


def print_step(
    options: Options, groups: Groups, step: log.Step, timers: Timers, where: torch.device
) -> None:
    """Print the iteration, its timers, and after the first and last one the memory of all ranks."""
    spent = timers.take()
    if groups.world.rank == 0:
        print(log.iteration_line(options, step))
        print(log.time_line(spent), flush=True)
    if step.iteration not in (1, options.iters):
        return
    kind, megabytes = _memory(where)
    gathered: list[dict[str, float]] = [megabytes] * options.grid.world
    dist.all_gather_object(gathered, megabytes)
    if groups.world.rank == 0:
        for rank, theirs in enumerate(gathered):
            print(log.memory_line(rank, step.iteration, kind, theirs), flush=True)


def _memory(where: torch.device) -> tuple[str, dict[str, float]]:
    """Megatron's statistics on a GPU; else those of its fork for Fugaku, and of this process."""
    if where.type == "cuda":
        return "memory", {
            "allocated": torch.cuda.memory_allocated() / MB,
            "max allocated": torch.cuda.max_memory_allocated() / MB,
            "reserved": torch.cuda.memory_reserved() / MB,
            "max reserved": torch.cuda.max_memory_reserved() / MB,
        }
    machine = environment.memory(environment.text("/proc/meminfo"))
    total, available = machine.get("total", 0), machine.get("available", 0)
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return "CPU memory", {
        "used": total - available,
        "total": total,
        "avail": available,
        "used percent": 100 * (total - available) / max(total, 1),
        "max rss": peak_kb / 1024,
    }
