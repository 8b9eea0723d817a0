"""Pandas kept out of a process of our own: PyArrow imports it with its first array.

That is a fifth of the start of a program which never makes a data frame of it.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Absent(Loader):
    """Finds pandas, and then has none: PyArrow goes on without, as where it is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == "pandas" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        raise ModuleNotFoundError(f"no {spec.name} in this process", name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Never reached."""


def keep_pandas_out() -> None:
    """Nothing in this process imports pandas from now on; not for a process of the user's."""
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _Absent())
