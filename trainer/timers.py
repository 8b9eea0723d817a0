"""Timers of an iteration, with Megatron's names."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class Timers:
    """Accumulated milliseconds by name."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._spent: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add the time of the block, synchronized with the asynchronous GPU."""
        self.synchronize()
        start = time.perf_counter()
        yield
        self.synchronize()
        elapsed = 1000 * (time.perf_counter() - start)
        self._spent[name] = self._spent.get(name, 0.0) + elapsed

    def synchronize(self) -> None:
        """Wait until the device has finished its work."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def take(self) -> dict[str, float]:
        """The times since the last call, which are reset."""
        spent, self._spent = self._spent, {}
        return spent
