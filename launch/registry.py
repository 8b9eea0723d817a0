"""Registry of launchers and trainers: NAME.py in their folder defines the class of NAME."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def names(folder: str) -> tuple[str, ...]:
    """The registered names in a folder of this package; imports nothing."""
    files = (Path(__file__).parent / folder).glob("[!_]*.py")
    return tuple(sorted(file.stem for file in files))


def load(folder: str, name: str) -> type:
    """The only public class defined in the file; imported ones do not count."""
    module = import_module(f".{folder}.{name}", __package__)
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    (found,) = (
        one
        for one in classes
        if one.__module__ == module.__name__ and not one.__name__.startswith("_")
    )
    return found
