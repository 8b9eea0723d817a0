"""What a process of our own does first and last, and one of a user's does not: it has one job."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NoReturn

_SAFE_PATH = "PYTHONSAFEPATH"
_SELDOM = (50_000, 20, 100)  # 700, 10, 10 are Python's


class _Absent(Loader):
    """Finds pandas, and then has none: PyArrow goes on without, as where it is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == "pandas" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        raise ModuleNotFoundError(f"no {spec.name} in this process", name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Never reached."""


def calculate_alone() -> None:
    """No threads of OpenBLAS, which NumPy starts with its import: nothing here is for them.

    They wait in a busy loop, a tenth of the time of reading a small log. Processes that are started
    later are told the same, so this is not for who starts those of a user.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@contextmanager
def safe_path() -> Iterator[None]:
    """Processes of Python that are started here do not look for modules in the working folder.

    Those of `multiprocessing` are started with `-c`, which puts it first. Only for them: a script
    of a user needs the modules beside it.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def begin() -> None:
    """No pandas from now on, and few searches for cycles among objects.

    PyArrow imports pandas with its first array: a fifth of the start of a program that makes no
    data frame of it. Rows by the hundred thousand are in no cycles, and to look for some again and
    again took a fifth of the time of reading tables and a tenth of auditing them.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _Absent())
    gc.set_threshold(*_SELDOM)


def end(code: int) -> NoReturn:
    """Leave with an exit code; what waits for the end is done, and nothing is taken apart.

    Python frees modules and objects one by one, a tenth of a second; the system frees all at once.
    """
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError):
            stream.flush()
    os._exit(code)
