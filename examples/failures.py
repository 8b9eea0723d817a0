"""A training that ends as it is told, with a log in the format of Megatron-LM: no torch, no GPU."""

import sys
import time

STEP = (
    " iteration {n:8d}/       4 | consumed samples: {samples:12d} | "
    "elapsed time per iteration (ms): {ms:.1f} | learning rate: 1.000E-03 | "
    "global batch size:     8 | lm loss: {loss:.6E} | loss scale: 1.0 | "
    "number of skipped iterations:   0 | number of nan iterations:   0 |"
)


def step(n: int) -> None:
    """A step of half a second."""
    began = time.perf_counter()
    time.sleep(0.5)
    ms = 1000 * (time.perf_counter() - began)
    print(STEP.format(n=n, samples=8 * n, ms=ms, loss=6.0 / n), flush=True)


def end(ends: str) -> None:
    """What goes wrong in the middle."""
    if ends == "hanging":
        time.sleep(3600)
    if ends == "failing":
        raise RuntimeError("the loss of rank 0 was not that of rank 1")
    held = []
    while ends == "out-of-memory":
        held.append(bytearray(b"x" * (64 << 20)))
        print(f"{64 * len(held)} MiB of activations", flush=True)
        time.sleep(0.3)


if __name__ == "__main__":
    print("using world size: 1, data-parallel-size: 1, tensor-model-parallel size: 1, "
          "pipeline-model-parallel size: 1 ", flush=True)  # fmt: skip
    for n in (1, 2):
        step(n)
    end(sys.argv[1])
    for n in (3, 4):
        step(n)
    print(time.strftime("[after training is done] datetime: %Y-%m-%d %H:%M:%S "), flush=True)
