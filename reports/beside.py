"""Work done beside other work: a page's template is compiled while DuckDB runs its queries."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class Beside(Generic[T]):
    """The result of a function that runs in a thread from now on.

    `concurrent.futures` would do, but importing it takes longer than what a page wins.
    """

    def __init__(self, function: Callable[[], T]) -> None:
        self._results: list[T] = []
        self._errors: list[BaseException] = []
        self._thread = Thread(target=self._run, args=(function,), daemon=True)
        self._thread.start()

    def result(self) -> T:
        """What the function returned, as soon as it has; raises what it raised."""
        self._thread.join()
        for error in self._errors:
            raise error
        return self._results[0]

    def _run(self, function: Callable[[], T]) -> None:
        try:
            self._results.append(function())
        except BaseException as error:  # raised again where the result is asked for
            self._errors.append(error)
