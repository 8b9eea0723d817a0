"""Launchers and trainers are the files of their folders: NAME.py holds the class of that NAME."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def names(folder: str) -> tuple[str, ...]:
    """The names of a folder of this package, without importing any of its files."""
    files = (Path(__file__).parent / folder).glob("[!_]*.py")
    return tuple(sorted(file.stem for file in files))


def load(folder: str, name: str) -> type:
    """The one public class that the file defines; what it imports does not count."""
    module = import_module(f".{folder}.{name}", __package__)
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    (found,) = (
        one
        for one in classes
        if one.__module__ == module.__name__ and not one.__name__.startswith("_")
    )
    return found
