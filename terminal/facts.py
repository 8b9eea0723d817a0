"""Where facts.toml lies: named in bench.toml, else beside it; and in the folders of the sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from .settings import find_file, read_settings

if TYPE_CHECKING:
    from ..schema.user_facts import UserFact
    from ..schema.warehouse import Warehouse

NAME = "facts.toml"


def facts_of(warehouse: Warehouse, root: Path) -> tuple[UserFact, ...]:
    """What users state about the sources of a warehouse, which lie below `root`.

    Raises BenchError, with its line, for a file that is wrong.
    """
    above = r"SELECT DISTINCT regexp_extract(uri, '^(.*)/', 1, 's') FROM sources"
    nearest = (PurePosixPath(folder) for (folder,) in warehouse.rows(above))
    folders = {folder for near in nearest for folder in (near, *near.parents)}
    found = [*_of_settings(root), *(root / folder / NAME for folder in sorted(folders))]
    files = [file for file in dict.fromkeys(file.absolute() for file in found) if file.is_file()]
    if not files:
        return ()
    from .facts_file import read_facts

    return tuple(fact for file in files for fact in read_facts(file))


def _of_settings(root: Path) -> Iterator[Path]:
    settings = find_file(root)
    named = read_settings(root).facts
    if named:
        yield named
    elif settings:
        yield settings.parent / NAME
