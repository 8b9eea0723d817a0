"""Every topology of the trainer gives the losses and gradient norms of one process.

One process imports torch, which takes longer than training the model; one, two and four ranks are
forked from it, and run one grid after the other.
"""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import traceback
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from bench.trainer import options, spawn
from tests.left_out import MUTANTS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("torch") is None,
        reason="NOT TESTED: torch is missing, the trainer's topologies were not compared",
    ),
]

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, "-m", "tests.test_trainer_topologies"]
# What ranks import, some of it where they need it.
IMPORTED = ("bench.trainer.loop", "bench.trainer.sharded", "torch.distributed.pipelining",
            "torch.nn.attention.bias")  # fmt: skip
# Two micro-batches or more each, so that gradients add up.
MODEL = "--preset nano --layers 4 --vocab 200 --gbs 4 --iters 3 --device cpu"
ITERATIONS = 3
FP32, BF16 = 2e-5, 2e-3
# Of gradient norms, as a share. Sums in another order were off by 2.2e-6 at most in fp32. A bf16
# has 8 bits, so that a rounding is off by up to 2**-9. Without TP the same products are rounded
# alike, and the sums of fp32 around them were off by 2.9e-4 at most; TP rounds partial products
# that one process never makes, as CP does of gradients of weights, and was off by 3.7e-3, two
# roundings: four are allowed.
NORMS, NORMS_BF16, NORMS_BF16_PARTS = 1e-5, 1e-3, 2**-7
# Of a Llama they were off by 1.2e-5: RMSNorm takes off no mean, and sums are of larger numbers.
NORMS_LLAMA = 3e-5

SP, FULL = "--sequence-parallel", "--recompute full"
LLAMA, MIXTURE, MIXED = "--preset llama-nano", "--preset moe-nano", "--dtype bf16"
PARAMS = f"{MIXED} --params-dtype bf16"
OVERLAP = "--overlap-grad-reduce --bucket-size 20000"  # of 240,000 parameters
# By the word that the names of what is compared with it begin with.
MODELS = {
    "fp32": "",
    "bf16": MIXED,
    "params": PARAMS,
    "Llama": LLAMA,
    "Mixture": MIXTURE,
    "bf16-Mixture": f"{MIXTURE} {MIXED}",
}
# A product in bf16 is rounded with the samples in it: those of one process have one sample too.
ONE = {name: f"{words} --mbs {1 if MIXED in words else 2}" for name, words in MODELS.items()}
TWO = {
    "DP2": "--dp 2",
    "DP2 MBS2 recompute": f"--dp 2 --mbs 2 {FULL}",
    "TP2 recompute": f"--tp 2 {FULL} --mbs 2",
    "TP2 SP recompute": f"--tp 2 {SP} {FULL} --mbs 2",
    "CP2": "--cp 2 --mbs 2",
    "PP2 GPipe": "--pp 2 --schedule gpipe",
    "PP2 1F1B MBS2": "--pp 2 --schedule 1f1b --mbs 2",
    "PP2 recompute": f"--pp 2 {FULL}",
    "PP2 VPP2": "--pp 2 --vpp 2",
    "DP2 ZeRO-1": "--dp 2 --zero 1",
    "DP2 ZeRO-2": "--dp 2 --zero 2",
    "DP2 ZeRO-3 recompute": f"--dp 2 --zero 3 {FULL}",
    "DP2 overlap": f"--dp 2 {OVERLAP}",
    "DP2 overlap ZeRO-1 recompute": f"--dp 2 {OVERLAP} --zero 1 {FULL}",
    "bf16 DP2": f"{MIXED} --dp 2",
    "bf16 TP2": f"{MIXED} --tp 2",
    "bf16 TP2 SP": f"{MIXED} --tp 2 {SP}",
    "bf16 CP2": f"{MIXED} --cp 2",
    "bf16 PP2": f"{MIXED} --pp 2",
    "bf16 ZeRO-1": f"{MIXED} --dp 2 --zero 1",
    "bf16 ZeRO-3": f"{MIXED} --dp 2 --zero 3",
    "params in bf16 DP2 overlap": f"{PARAMS} --dp 2 {OVERLAP}",
    "params in bf16 TP2 SP": f"{PARAMS} --tp 2 {SP}",
    "params in bf16 PP2": f"{PARAMS} --pp 2",
    "params in bf16 ZeRO-1": f"{PARAMS} --dp 2 --zero 1",
    "params in bf16 ZeRO-3": f"{PARAMS} --dp 2 --zero 3",
    "Llama TP2": f"{LLAMA} --tp 2 --mbs 2",
    "Llama TP2 SP recompute": f"{LLAMA} --tp 2 {SP} {FULL} --mbs 2",
    "Llama CP2 recompute": f"{LLAMA} --cp 2 {FULL} --attention flash --mbs 2",
    "Llama CP2 ZeRO-3": f"{LLAMA} --cp 2 --zero 3 --mbs 2",
    "Llama PP2": f"{LLAMA} --pp 2",
    "Llama PP2 VPP2 recompute": f"{LLAMA} --pp 2 --vpp 2 {FULL}",
    "Llama ZeRO-1": f"{LLAMA} --dp 2 --zero 1",
    "Llama ZeRO-3": f"{LLAMA} --dp 2 --zero 3",
    "Mixture DP2 overlap": f"{MIXTURE} --dp 2 {OVERLAP}",
    "Mixture DP2 EP2": f"{MIXTURE} --dp 2 --ep 2",
    "Mixture CP2 EP2 recompute": f"{MIXTURE} --cp 2 --ep 2 {FULL} --mbs 2",
    "Mixture TP2": f"{MIXTURE} --tp 2 --mbs 2",
    "Mixture TP2 SP": f"{MIXTURE} --tp 2 {SP} --mbs 2",
    "Mixture DP2 EP2 ZeRO-1 overlap": f"{MIXTURE} --dp 2 --ep 2 --zero 1 {OVERLAP}",
    "Mixture DP2 EP2 ZeRO-3": f"{MIXTURE} --dp 2 --ep 2 --zero 3",
    "bf16-Mixture DP2 EP2": f"{MIXTURE} {MIXED} --dp 2 --ep 2",
}
FOUR = {
    "DP2 TP2 overlap": f"--dp 2 --tp 2 {OVERLAP}",
    "DP2 TP2 SP ZeRO-1": f"--dp 2 --tp 2 {SP} --zero 1",
    "DP2 PP2 ZeRO-1": "--dp 2 --pp 2 --zero 1",
    "DP2 PP2 VPP2 overlap ZeRO-1": f"--dp 2 --pp 2 --vpp 2 --zero 1 {OVERLAP}",
    "TP2 PP2 VPP2 SP": f"--tp 2 --pp 2 --vpp 2 {SP}",
    "TP2 PP2 SP": f"--tp 2 --pp 2 {SP}",
    "CP2 TP2 SP": f"--cp 2 --tp 2 {SP} --mbs 2",
    "CP2 PP2 VPP2": "--cp 2 --pp 2 --vpp 2",
    "TP4": "--tp 4 --mbs 2",
    "PP4": "--pp 4",
    "PP4 GPipe": "--pp 4 --schedule gpipe",
    "DP2 TP2 ZeRO-2": "--dp 2 --tp 2 --zero 2",
    "DP2 TP2 SP ZeRO-3": f"--dp 2 --tp 2 {SP} --zero 3",
    "bf16 TP2 PP2 SP": f"{MIXED} --tp 2 --pp 2 {SP}",
    "Llama TP2 PP2 SP": f"{LLAMA} --tp 2 --pp 2 {SP}",
    "Llama CP4": f"{LLAMA} --cp 4 --mbs 2",
    "Llama DP2 CP2 overlap ZeRO-1": f"{LLAMA} --dp 2 --cp 2 --zero 1 {OVERLAP}",
    "Llama DP2 TP2 ZeRO-1": f"{LLAMA} --dp 2 --tp 2 --zero 1",
    "Mixture DP2 TP2 SP EP2": f"{MIXTURE} --dp 2 --tp 2 {SP} --ep 2",
    "Mixture DP4 EP2 ZeRO-1": f"{MIXTURE} --dp 4 --ep 2 --zero 1",
    "Mixture DP4 EP2 ZeRO-2": f"{MIXTURE} --dp 4 --ep 2 --zero 2",
    "Mixture DP2 CP2 EP4": f"{MIXTURE} --dp 2 --cp 2 --ep 4",
    "Mixture DP2 PP2 VPP2 EP2": f"{MIXTURE} --dp 2 --pp 2 --vpp 2 --ep 2",
}


@dataclass(frozen=True)
class Run:
    """What one run gave."""

    losses: list[float]
    norms: list[float]

    def far_from(self, other: "Run") -> float:
        """The largest difference of a loss."""
        assert len(self.losses) == len(other.losses) == ITERATIONS
        return max(abs(a - b) for a, b in zip(self.losses, other.losses, strict=True))


def work(cases: list[tuple[str, str]]) -> None:
    """In a rank: one grid after the other, some of them with a collective left out."""
    loop = importlib.import_module("bench.trainer.loop")
    for name, words in cases:
        mutant = MUTANTS.get(name)
        with ExitStack() as patches:
            if mutant is not None:
                target, replacement = f"bench.trainer.{mutant[1]}", mutant[2]
                patches.enter_context(patch(target, replacement))
            steps = loop.train(options.parse([*MODEL.split(), *words.split()]))
        if os.environ["RANK"] == "0":
            found = {"losses": [s.loss for s in steps], "norms": [s.grad_norm for s in steps]}
            ranks = int(os.environ["WORLD_SIZE"])
            print("RUN " + json.dumps([ranks, name, found]), flush=True)
    spawn.leave()


def forked(groups: list[tuple[int, list[tuple[str, str]]]]) -> int:
    """Each group of cases on so many forked ranks, one group after the other; 0 if all went well.

    A rank that fails takes the others along, which lose their connection to it.
    """
    for name in IMPORTED:
        importlib.import_module(name)
    for ranks, cases in groups:
        port, launcher = spawn.free_port(), {"BENCH_LAUNCHER": str(os.getpid())}
        children = []
        for rank in range(ranks):
            if not (child := os.fork()):
                os.environ |= spawn.environment(rank, ranks, port, os.environ | launcher)
                spawn.die_with_parent()
                if rank:  # rank 0 tells what came; two would break each other's lines
                    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                try:
                    work(cases)
                finally:
                    traceback.print_exc()
                    os._exit(1)
            children.append(child)
        # The first that ends badly ends the run: peers may wait for it for minutes.
        for _ in children:
            _, status = os.wait()
            if status:
                return 1
    return 0


def runs(groups: dict[int, dict[str, str]]) -> dict[int, dict[str, Run]]:
    """All cases on so many processes; this file is the program that they are forked from."""
    listed = [(ranks, list(cases.items())) for ranks, cases in groups.items()]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*PROGRAM, json.dumps(listed)], cwd=ROOT, env=env, capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    found: dict[int, dict[str, Run]] = {ranks: {} for ranks in groups}
    for row in done.stdout.splitlines():
        if row.startswith("RUN "):
            ranks, name, one = json.loads(row[4:])
            found[ranks][name] = Run(**one)
    return found


EVERY = {1: ONE, 2: TWO | {name: mutant[0] for name, mutant in MUTANTS.items()}, 4: FOUR}


@pytest.fixture(scope="module")
def every() -> dict[int, dict[str, Run]]:
    return runs(EVERY)


@pytest.fixture(scope="module")
def one(every: dict[int, dict[str, Run]]) -> dict[str, Run]:
    """The reference: one process."""
    return every[1]


@pytest.fixture(scope="module")
def two(every: dict[int, dict[str, Run]]) -> dict[str, Run]:
    return every[2]


@pytest.fixture(scope="module")
def four(every: dict[int, dict[str, Run]]) -> dict[str, Run]:
    return every[4]


def norms_of(name: str) -> float:
    """How far a gradient norm may be off, as a share."""
    if name.startswith("params"):  # rounded again with each update
        return NORMS_BF16_PARTS
    if name.startswith("bf16"):
        return NORMS_BF16_PARTS if "TP" in name or "CP" in name else NORMS_BF16
    return NORMS_LLAMA if name.startswith(("Llama", "Mixture")) else NORMS


def losses_of(name: str) -> float:
    """How far a loss may be off."""
    return BF16 if name.startswith(("bf16", "params")) else FP32


def reference(name: str, one: dict[str, Run]) -> Run:
    """The run of one process that a topology is compared with."""
    return one.get(name.split()[0], one["fp32"])


def of_mutant(name: str, one: dict[str, Run]) -> Run:
    """The run of one process of the same model."""
    return one["Mixture" if MIXTURE in MUTANTS[name][0] else "fp32"]


def same(name: str, found: Run, one: dict[str, Run]) -> None:
    """Losses within the tolerance of the type, norms within their own."""
    alone = reference(name, one)
    assert found.far_from(alone) <= losses_of(name), (name, found, alone)
    assert found.norms == pytest.approx(alone.norms, rel=norms_of(name)), name


@pytest.mark.parametrize("name", TWO)
def test_two_processes_give_the_losses_of_one(
    name: str, one: dict[str, Run], two: dict[str, Run]
) -> None:
    same(name, two[name], one)


@pytest.mark.parametrize("name", FOUR)
def test_four_processes_give_the_losses_of_one(
    name: str, one: dict[str, Run], four: dict[str, Run]
) -> None:
    same(name, four[name], one)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_collective_left_out_shows(name: str, one: dict[str, Run], two: dict[str, Run]) -> None:
    alone, found = of_mutant(name, one), two[name]
    assert found.far_from(alone) > 5 * FP32, (name, found, alone)


def test_something_is_learnt(one: dict[str, Run]) -> None:
    assert one["fp32"].losses[-1] < one["fp32"].losses[0] - 0.03


HEAD = """\
| topology | processes | loss off by, at most | norm by | allowed of the loss | of the norm |
| --- | ---: | ---: | ---: | ---: | ---: |"""


def table() -> bool:
    """Every topology against one process, printed; whether all are as near as they have to be."""
    every = runs(EVERY)
    one, good = every[1], True
    print(HEAD)
    for ranks in (2, 4):
        for name, found in every[ranks].items():
            alone = of_mutant(name, one) if name in MUTANTS else reference(name, one)
            allowed = losses_of(name)
            off = found.far_from(alone)
            norms = zip(found.norms, alone.norms, strict=True)
            norm = max(abs(a / b - 1) for a, b in norms)
            mutant = name in MUTANTS
            good &= off > 5 * FP32 if mutant else off <= allowed and norm <= norms_of(name)
            must = (
                f"above {5 * FP32:.0e} | any" if mutant else f"{allowed:.0e} | {norms_of(name):.0e}"
            )
            print(f"| {name} | {ranks} | {off:.1e} | {norm:.1e} | {must} |", flush=True)
    print("losses of one process:", *(f"{loss:.6f}" for loss in one["fp32"].losses))
    return good


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(not table())
    sys.exit(forked(json.loads(sys.argv[1])))
