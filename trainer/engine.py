"""The training loop of one rank under DeepSpeed's engine: its ZeRO, its sums, its clipping."""

from __future__ import annotations

import math
import time
from typing import Any

import deepspeed
import torch
from torch import Tensor

from . import log
from .flat import adam, parts
from .groups import Groups, connect
from .loop import finish, prepare, print_model, print_start, print_step
from .model import Stage
from .options import Options
from .samples import batch
from .timers import Timers

Engine = Any  # DeepSpeed has no types


def train(options: Options) -> list[log.Step]:
    """Run and print all steps; DeepSpeed's own lines are between ours."""
    # Its shared-memory collectives would be compiled for a minute at the first start: use gloo.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.utils.logging.set_log_level_from_string("info")  # else no line has a step
    where = prepare(options)
    backend = "nccl" if where.type == "cuda" else "gloo"
    deepspeed.init_distributed(dist_backend=backend, auto_mpi_discovery=False)
    groups = connect(options.grid)
    if groups.world.rank == 0:
        versions = {"framework": "DeepSpeed", "deepspeed_version": deepspeed.__version__}
        print_start(options, where, versions)
    stage = Stage(options, groups).to(where)
    print_model(options, groups, [stage])
    owned = [(part, part.parameters) for part in parts([stage])]
    engine, *_ = deepspeed.initialize(
        model=stage, optimizer=adam(stage, owned), config=configuration(options)
    )
    timers, steps = Timers(where), []
    for iteration in range(1, options.iters + 1):
        steps.append(_step(options, groups, engine, timers, iteration, where))
        print_step(options, groups, steps[-1], timers, where)
    finish(groups, where)
    return steps


def configuration(options: Options) -> dict[str, object]:
    """The run as a DeepSpeed configuration."""
    return {
        "train_batch_size": options.gbs,
        "train_micro_batch_size_per_gpu": options.mbs,
        "gradient_accumulation_steps": options.micro_batches,
        "gradient_clipping": options.clip_grad,
        "steps_per_print": 1,
        "zero_optimization": {"stage": options.zero},
        "zero_allow_untested_optimizer": True,
    }


def _step(
    options: Options,
    groups: Groups,
    engine: Engine,
    timers: Timers,
    iteration: int,
    where: torch.device,
) -> log.Step:
    timers.synchronize()
    start, skipped = time.perf_counter(), engine.skipped_steps
    tokens, targets = batch(options, groups, iteration, where)
    count = options.micro_batches
    total = torch.zeros((), device=where)
    for x, y in zip(tokens.chunk(count), targets.chunk(count), strict=True):
        with timers("forward"):
            loss: Tensor = engine(x, y)
        with timers("backward"):
            engine.backward(loss)
        with timers("step"):
            engine.step()  # only the last micro-batch updates
        total += loss.detach() / count
    mean = float(groups.replicas.sum(total) / groups.replicas.size)
    timers.synchronize()
    seconds = time.perf_counter() - start
    norm = engine.get_global_grad_norm()
    norm = None if norm is None else float(norm)
    lost = engine.skipped_steps > skipped
    return log.Step(iteration, seconds, mean, norm, lost, not math.isfinite(mean))
