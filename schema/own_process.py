"""Start and end of our own single-purpose processes, not of a user's process."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import NoReturn

_SAFE_PATH = "PYTHONSAFEPATH"
_SELDOM = (500_000, 20, 100)  # 700, 10, 10 are Python's


class _Absent(Loader):
    """An importer that makes pandas absent: PyArrow continues as where it is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == "pandas" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        raise ModuleNotFoundError(f"no {spec.name} in this process", name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Never reached."""


class _Away:
    """An importer of matplotlib that runs it away from the working folder.

    It would take a `matplotlibrc` there for its settings: a file of anybody, or one without end.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != "matplotlib":
            return None
        at = sys.meta_path.index(self)
        sys.meta_path.remove(self)
        try:
            found = find_spec(name)
        finally:
            sys.meta_path.insert(at, self)  # a library may only ask whether it is there
        if found and found.loader and found.origin:
            loaded = partial(self._run_in, os.path.dirname(found.origin), found.loader.exec_module)
            setattr(found.loader, "exec_module", loaded)  # noqa: B010  # of this one module
        return found

    def _run_in(self, folder: str, run: Callable[[ModuleType], None], module: ModuleType) -> None:
        here = os.open(os.curdir, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
        try:
            os.chdir(folder)
            run(module)
        finally:
            os.fchdir(here)
            os.close(here)
        sys.meta_path.remove(self)


def calculate_alone() -> None:
    """Turn off the threads of OpenBLAS, which NumPy starts at import: nothing here uses them.

    They wait in a busy loop, a tenth of the time of reading a small log. Child processes inherit
    the setting, so it is not for parents of a user's processes.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@contextmanager
def safe_path() -> Iterator[None]:
    """Child processes of Python do not search the working folder for modules.

    Those of `multiprocessing` are started with `-c`, which puts it first. Only for them: a user's
    script needs the modules in its folder.
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
    """Block pandas, import matplotlib elsewhere, and collect cyclic garbage rarely.

    PyArrow imports pandas with its first array: a fifth of the start of a program without data
    frames. Hundreds of thousands of rows have no cycles, and repeated searches for them took a
    fifth of the time of reading tables and a tenth of auditing and of ranking them.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _Absent())
    if "matplotlib" not in sys.modules:
        sys.meta_path.insert(0, _Away())
    gc.set_threshold(*_SELDOM)


def end(code: int) -> NoReturn:
    """Leave with an exit code; runs exit handlers, but skips the teardown of the interpreter.

    Python frees modules and objects one by one, a tenth of a second; the system frees all at once.
    """
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError):
            stream.flush()
    os._exit(code)
