"""A fake training that fails on request, with a log like Megatron-LM's; needs no torch or GPU."""

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
    """Fail in the requested way: hang, raise, or use up memory."""
    if ends == "hanging":
        time.sleep(3600)
    if ends == "failing":
        raise RuntimeError("the loss of rank 0 was not that of rank 1")
    blocks = []
    while ends == "out-of-memory":
        blocks.append(bytearray(b"x" * (64 << 20)))
        print(f"{64 * len(blocks)} MiB of activations", flush=True)
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
