"""User annotations of sources: facts.toml files, and path patterns of bench.toml."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ..schema.errors import BenchError
from .repository import find_file
from .settings import read_settings

if TYPE_CHECKING:
    from ..schema.annotation import Annotation
    from ..schema.warehouse import Warehouse

NAME = "facts.toml"
_LISTED = 3  # names that match nothing


def facts_of(warehouse: Warehouse, root: Path) -> tuple[Annotation, ...]:
    """Read every facts.toml: the one set in bench.toml, else in its folder, and those in the
    directories of the sources below `root`.

    Raises BenchError, with the line, for an invalid file.
    """
    above = "SELECT DISTINCT parse_dirpath(uri, 'forward_slash') FROM sources"
    files = facts_files(root, {folder for (folder,) in warehouse.rows(above)})
    if not files:
        return ()
    from .facts_file import read_facts

    return tuple(fact for file in files for fact in read_facts(file))


def facts_files(root: Path, folders: Iterable[str]) -> list[Path]:
    """The files that `facts_of` reads for sources in these folders, which are relative to
    `root`."""
    # Texts, and one look at each folder: runs of a sweep have a hundred thousand.
    there = _folders_with_facts(root, folders)
    found = [*_of_settings(root), *(root / folder / NAME for folder in sorted(there))]
    return [file for file in dict.fromkeys(file.absolute() for file in found) if file.is_file()]


def of_no_source(warehouse: Warehouse, facts: Iterable[Annotation]) -> list[str]:
    """One sentence for each file of facts of which a `match` names no source of the warehouse."""
    named = [fact for fact in facts if fact.match.file is not None and not fact.withdrawn]
    if not named:
        return []
    uris = [uri for (uri,) in warehouse.rows("SELECT DISTINCT unnest(uris) FROM sources")]
    lasts = sorted(uri.rsplit("/", 1)[-1] for uri in uris)
    known = {*uris, *lasts, *(last.rsplit(".", 1)[0] for last in lasts)}

    @cache
    def is_known(name: str) -> bool:  # as `Match.names` has it, of all sources at once
        at = bisect_left(lasts, name)
        begins = at < len(lasts) and lasts[at].startswith(name)
        return name in known or begins or any(fnmatchcase(uri, name) for uri in uris)

    unknown: dict[str, list[str]] = {}
    for fact in named:
        if not is_known(name := str(fact.match.file)):
            unknown.setdefault(fact.file, []).append(f'"{name}" (line {fact.line})')
    return [
        f"{file}: no source of this warehouse is named {' or '.join(names[:_LISTED])}"
        + (f", nor {len(names) - _LISTED} more" if len(names) > _LISTED else "")
        for file, names in unknown.items()
    ]


def _folders_with_facts(root: Path, nearest: Iterable[str]) -> set[PurePosixPath]:
    """The folders that have such a file, of those given and all above them."""
    folders: set[str] = set()
    for near in nearest:
        while near not in folders:
            folders.add(near)
            near = near.rpartition("/")[0] or near[:1] * near.startswith("/")
    base = os.fspath(root)
    return {
        PurePosixPath(folder)
        for folder in folders
        if _exists(f"{folder}/{NAME}" if folder.startswith("/") else f"{base}/{folder}/{NAME}")
    }


def _exists(path: str) -> bool:
    try:
        return os.access(path, os.F_OK)  # a quarter of the time of isfile
    except ValueError:  # no name of a file
        return False


def _of_settings(root: Path) -> Iterator[Path]:
    settings = find_file(root)
    named = read_settings(root).facts
    if named:
        yield named
    elif settings:
        yield settings.parent / NAME


def path_facts(warehouse: Warehouse, root: Path) -> Iterator[Annotation]:
    """The values that bench.toml's path patterns extract from names of logs below `root`."""
    from ..schema.annotatable import parse_value
    from ..schema.annotation import PATH, Annotation, Match

    settings = read_settings(root)
    if not settings.paths or settings.file is None:
        return
    query = "SELECT DISTINCT unnest(uris) AS uri FROM sources WHERE kind = 'log' ORDER BY uri"
    for (uri,) in warehouse.rows(query):
        # Patterns are relative to bench.toml, which may be above the warehouse.
        path = os.path.relpath(os.path.join(root.absolute(), uri), settings.file.parent)
        for pattern in settings.paths:
            for name, text in (pattern.values(path) or {}).items():
                try:
                    value = parse_value(name, text)
                except BenchError:  # tp-0, or a number out of range: ignored
                    continue
                yield Annotation(
                    Match(uri=uri), name, value, f"its path matches {pattern.pattern}", "", None,
                    settings.file.name, pattern.line, PATH,
                )  # fmt: skip
