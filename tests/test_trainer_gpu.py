"""On a GPU the trainer gives the losses of a processor, by every kernel and option of the step."""

import importlib
import importlib.util
import os
import re
import shutil
from collections.abc import Callable

import pytest

from bench.trainer import options, spawn
from bench.trainer.log import Step

# Builds have no GPU: docs/trainer.md says what these tests showed on one.
pytestmark = pytest.mark.skipif(
    shutil.which("nvidia-smi") is None or importlib.util.find_spec("torch") is None,
    reason="NOT TESTED: no GPU here, or no torch",
)

MODEL = "--layers 4 --gbs 4 --mbs 2 --iters 3"
FP32, BF16 = 2e-5, 2e-3  # as between topologies
NORMS, NORMS_BF16 = 3e-5, 2**-7
MIXED, PARAMS = "--dtype bf16", "--dtype bf16 --params-dtype bf16"

Losses = Callable[[str], list[Step]]


@pytest.fixture(scope="module")
def run() -> Losses:
    """Runs the trainer in this process, the only rank."""
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        pytest.skip("NOT TESTED: this torch does not see the GPU")
    loop = importlib.import_module("bench.trainer.loop")
    os.environ |= spawn.environment(0, 1, spawn.free_port(), {})
    importlib.import_module("torch.distributed").init_process_group("cpu:gloo,cuda:nccl")

    def steps(words: str) -> list[Step]:
        found: list[Step] = loop.train(options.parse([*MODEL.split(), *words.split()]))
        return found

    return steps


def compare(found: list[Step], expected: list[Step], loss: float, norm: float) -> None:
    """Losses and gradient norms agree; none is missing."""
    assert len(found) == len(expected) == 3
    for one, other in zip(found, expected, strict=True):
        assert abs(one.loss - other.loss) <= loss
        assert one.grad_norm is not None and other.grad_norm is not None
        assert abs(one.grad_norm / other.grad_norm - 1) <= norm


@pytest.mark.parametrize("preset", ["nano", "llama-nano", "moe-nano"])
@pytest.mark.parametrize("step", ["", "--recompute full", "--attention efficient", "--compile"])
def test_losses_in_fp32_are_those_of_a_processor(run: Losses, preset: str, step: str) -> None:
    if preset == "moe-nano" and step == "--compile":
        pytest.skip("the numbers of tokens by expert differ: each would be compiled anew")
    expected = run(f"--preset {preset} --device cpu")
    compare(run(f"--preset {preset} --device cuda {step}"), expected, FP32, NORMS)


@pytest.mark.parametrize("preset", ["nano", "llama-nano", "moe-nano"])
@pytest.mark.parametrize("kernel", ["auto", "flash", "efficient", "cudnn", "math"])
@pytest.mark.parametrize("dtype", [MIXED, PARAMS])
def test_losses_in_bf16_are_those_of_a_processor(
    run: Losses, preset: str, kernel: str, dtype: str
) -> None:
    expected = run(f"--preset {preset} --device cpu {dtype}")
    found = run(f"--preset {preset} --device cuda {dtype} --attention {kernel}")
    compare(found, expected, BF16, NORMS_BF16)


def test_log_names_the_gpu_and_its_memory(run: Losses, capfd: pytest.CaptureFixture[str]) -> None:
    run("--preset nano --device cuda")
    text = capfd.readouterr().out
    assert re.search(r"NVIDIA [^,]+, \d+ MB", text)
    assert re.search(r"max allocated: \d+\.\d+", text)
