"""Defects of our readers, which lose the file that shows them and no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What code that is wrong raises. Whatever a machine or a person does has other exceptions.
DEFECTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


class Defect(OSError):
    """bench failed to read a file, as if the disk had: it is reported with the others."""


@contextmanager
def contained() -> Iterator[None]:
    """Turn the exceptions of a defect into a Defect with their place in our code."""
    try:
        yield
    except DEFECTS as error:
        raise Defect(f"bench failed to read it: {described(error)}; please report it") from error


def described(error: Exception) -> str:
    """The kind of an exception and the line that raised it; its text may quote the file."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = ""
    if trace:
        place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return f"{type(error).__name__}{place}"
