"""The trainer's share of this machine's achievable FLOP/s: `python benchmarks/trainer.py`.

The reference is the machine's matrix product, measured before and after each run. Without a GPU:
124m, fp32, MBS 1, all threads; then the same work divided over two processes with half of the
threads each. With a GPU: 1.3b in bf16, by options of the step.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout

import torch

from bench.trainer import flops
from bench.trainer.loop import steps as train
from bench.trainer.options import parse
from bench.trainer.spawn import cores, free_port

STEP = re.compile(r"elapsed time per iteration \(ms\): ([\d.]+) \|")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
AT_LEAST = {"cpu": 0.80, "cuda": 0.50}[DEVICE]
DTYPE = {"cpu": torch.float32, "cuda": torch.bfloat16}[DEVICE]
SIZES = {"cpu": (1024, 2048, 3072), "cuda": (4096, 8192, 16384)}[DEVICE]
DEFAULTS = {
    "cpu": {"preset": "124m", "iters": 4, "gbs": 2, "mbs": 1},
    "cuda": {"preset": "1.3b", "iters": 5, "gbs": 32, "mbs": 8},
}[DEVICE]
PARAMS, COMPILED = "--params-dtype bf16", "--params-dtype bf16 --compile"
RUNS = {
    "cpu": {"one process": "", "DP 2": "--dp 2", "TP 2": "--tp 2", "PP 2": "--pp 2"},
    "cuda": {
        "eager": "",
        "parameters in bf16": PARAMS,
        "compiled": COMPILED,
        "compiled, flash": f"{COMPILED} --attention flash",
        "compiled, cuDNN": f"{COMPILED} --attention cudnn",
        "compiled, recompute": f"{COMPILED} --recompute full",
    },
}[DEVICE]
HEAD = """
| run | processes x threads | s/it best (median) | GFLOP/s | peak GFLOP/s | share | of medians | causal | speed |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""  # noqa: E501
LEGEND = f"""
share: 72 B s L h^2 (1 + s/(6h) + V/(12Lh)) in the best iteration, over the best matrix product;
at least {AT_LEAST:.2f} is required of the best run. of medians: the same of the medians of both;
on a machine that others use too the truth lies between. causal: the share with half of the
attention counted. speed: against the first run."""


def products(threads: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """FLOP/s of square matrix products: fp32 on the processor, bf16 on a GPU."""
    torch.set_num_threads(threads)
    found = []
    for size in SIZES:
        a, b = (torch.randn(size, size, device=DEVICE, dtype=DTYPE) for _ in range(2))
        for _ in range(10):
            start = clock()
            a @ b
            if DEVICE == "cuda":
                torch.cuda.synchronize()
            found.append(2 * size**3 / (clock() - start))
    return found


def steps(words: list[str], threads: int) -> list[float]:
    """Seconds of each iteration after the first, which is a warm-up."""
    command = [sys.executable, "-m", "bench.trainer.train", *words]
    env = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return [float(found) / 1000 for found in STEP.findall(done.stdout)[1:]]


def by_processor_time(model: str, iters: int) -> float:
    """The share on one thread by processor time, which other load hardly affects."""
    before, used = products(1, time.process_time), []
    for count in (2, 2 + iters):  # the difference excludes startup
        start = os.times()
        steps(f"{model} --iters {count}".split(), 1)
        end = os.times()
        used.append(sum(end[2:4]) - sum(start[2:4]))
    taken = (used[1] - used[0]) / iters
    peak = max(before + products(1, time.process_time))
    options = parse(model.split())
    share = flops.model(options.shape, options.gbs, options.vocab) / taken / peak
    print(f"one thread: {taken:.3f} s of processor time per iteration, peak {peak / 1e9:.1f} GFLOP "
          f"per s of it, share {share:.2f}")  # fmt: skip
    return share


def side_by_side(model: str, rounds: int, threads: int) -> float:
    """Alternate iterations and products of equal duration, so that other load slows both.

    Each share is relative to the mean rate of the products before and after, not to the fastest.
    The best round is the least disturbed one; the median of all is printed, too.
    """
    single = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    os.environ.update(single, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    options = parse(f"{model} --iters {rounds + 1} --threads {threads}".split())
    work = flops.model(options.shape, options.gbs, options.vocab)
    torch.set_num_threads(threads)
    shares: list[float] = []
    print("| round | s/it | GFLOP/s | products | share |\n| ---: | ---: | ---: | ---: | ---: |")
    training = train(options)
    with redirect_stdout(io.StringIO()):
        seconds = next(training).seconds  # warm-up
    before = rate(seconds / 2)
    for _ in range(rounds):
        with redirect_stdout(io.StringIO()):
            seconds = next(training).seconds
        after = rate(seconds / 2)
        baseline, ours = (before + after) / 2, work / seconds
        shares.append(ours / baseline)
        cells = (len(shares), seconds, ours / 1e9, baseline / 1e9, shares[-1])
        print("| {} | {:.2f} | {:.1f} | {:.1f} | {:.2f} |".format(*cells), flush=True)
        before = after
    best, usual = max(shares), statistics.median(shares)
    print(f"share: best {best:.2f}, median {usual:.2f} of {rounds} rounds, {threads} threads")
    return best


def rate(seconds: float) -> float:
    """FLOP/s of successive matrix products over this time."""
    size = SIZES[1]
    a, b = (torch.randn(size, size, device=DEVICE, dtype=DTYPE) for _ in range(2))
    start, done = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < seconds or not done:
        a @ b
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        done += 2 * size**3
    return done / spent


def main() -> int:
    """Print the shares; returns 1 if the best is below the limit."""
    flags = argparse.ArgumentParser(description=__doc__)
    for name, value in DEFAULTS.items():
        flags.add_argument(f"--{name}", type=type(value), default=value)
    flags.add_argument("--threads", type=int, default=cores())
    flags.add_argument("--alone", action="store_true", help="the first run only")
    flags.add_argument("--processor-time", action="store_true", help="where others work too")
    flags.add_argument("--side-by-side", type=int, metavar="ROUNDS", help="the same, all threads")
    given = flags.parse_args()
    model = " ".join(f"--{name} {getattr(given, name)}" for name in DEFAULTS)
    model += f" --device {DEVICE} --dtype {'bf16' if DEVICE == 'cuda' else 'fp32'}"
    alone = given.alone or (DEVICE == "cpu" and given.threads == 1)
    runs = dict(list(RUNS.items())[: 1 if alone else None])
    print(f"{model}; load average {os.getloadavg()[0]:.1f} on {cores()} cores")
    if given.processor_time:
        return 0 if by_processor_time(model, given.iters) >= AT_LEAST else 1
    if given.side_by_side:
        return 0 if side_by_side(model, given.side_by_side, given.threads) >= AT_LEAST else 1
    print(HEAD)
    shares, single_s, before = [], 0.0, products(given.threads)
    for name, flags_of_run in runs.items():
        words = f"{model} {flags_of_run}".split()
        options = parse(words)
        threads = given.threads // options.grid.world
        taken = steps(words, threads)
        after = products(given.threads)
        best, usual = min(taken), statistics.median(taken)
        peak, product = max(before + after), statistics.median(before + after)
        before, single_s = after, single_s or best
        work = flops.model(options.shape, options.gbs, options.vocab)
        causal = flops.causal(options.shape, options.gbs, options.vocab)
        shares.append(work / best / peak)
        print(
            f"| {name} | {options.grid.world} x {threads} | {best:.3f} ({usual:.3f}) | "
            f"{work / best / 1e9:.1f} | {peak / 1e9:.1f} | {shares[-1]:.2f} | "
            f"{work / usual / product:.2f} | {causal / best / peak:.2f} | {single_s / best:.2f} |",
            flush=True,
        )
    print(f"{LEGEND}\nload average {os.getloadavg()[0]:.1f}")
    return 0 if max(shares) >= AT_LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
