"""Where the time of an iteration goes, under Megatron's names."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class Timers:
    """Milliseconds by name, until they are taken."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._spent: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Adds the time of its block; a GPU is waited for, since it works on behind our back."""
        self.synchronize()
        start = time.perf_counter()
        yield
        self.synchronize()
        elapsed = 1000 * (time.perf_counter() - start)
        self._spent[name] = self._spent.get(name, 0.0) + elapsed

    def synchronize(self) -> None:
        """Wait until the device has done what it was asked for."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def take(self) -> dict[str, float]:
        """What was spent since the last call."""
        spent, self._spent = self._spent, {}
        return spent
