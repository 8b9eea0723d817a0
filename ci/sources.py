"""Sources of regions and diffs: paths read into memory or a warehouse, each opened once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..ingest.files.folders import files_below, uri_of
from ..project.facts import facts_files
from ..project.read import open_settled, read
from ..project.repository import checkout_of, find_home, require_inside
from ..project.settings import find_db, read_settings
from ..records.reading import files_of_folder, is_marker
from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from ..terminal.messages import warn_of

MOST_OPEN = 16  # warehouses: a page may ask for as many as it has regions


@dataclass
class Sources:
    """A cache of opened sources, shared by all regions.

    The first of these counts: the paths `given`, `db`, BENCH_DB, `sources` in bench.toml, the
    warehouse of bench.toml, ./bench.duckdb.
    """

    given: tuple[Path, ...] = ()
    db: Path | None = None
    lock_timeout: float = 5.0
    own_templates: bool = True  # whether templates of the repository are rendered
    home: Path = field(default_factory=lambda: find_home(Path.cwd()))
    _open: dict[tuple[Path, ...], Warehouse] = field(default_factory=dict)  # the latest last
    _uris: set[str] = field(default_factory=set)  # of what was closed again

    def default_paths(self) -> Warehouse:
        """The paths for a region without a source of its own."""
        file = read_settings().file
        return self.of(self.paths(), None if self.given or not file else file.parent)

    def paths(self) -> tuple[Path, ...]:
        """The paths to read; empty for the warehouse."""
        if self.given or self.db or os.environ.get("BENCH_DB"):
            return self.given
        return read_settings().sources

    def of(self, paths: Sequence[Path], folder: Path | None) -> Warehouse:
        """These paths as a warehouse in memory; without paths, the warehouse file.

        `folder` is that of the file that names the paths, unless the user does.
        """
        key = tuple(dict.fromkeys(paths))
        found = self._open.pop(key, None)
        if found is None:
            if len(self._open) >= MOST_OPEN:
                self._close(next(iter(self._open)))
            found = (
                self._read(key, folder)
                if key
                else open_settled(find_db(self.db), self.lock_timeout)
            )
        self._open[key] = found
        return found

    def _close(self, key: tuple[Path, ...]) -> None:
        warehouse = self._open.pop(key)
        if key:
            self._uris.update(uri for (uri,) in warehouse.rows("SELECT uri FROM sources"))
        warehouse.close()

    def kept(self, paths: Sequence[Path]) -> Warehouse | None:
        """The warehouse of these paths, if they were read before."""
        return self._open.get(tuple(dict.fromkeys(paths)))

    def _read(self, paths: Sequence[Path], folder: Path | None) -> Warehouse:
        if folder is not None:
            paths = require_sources_inside(folder, paths, self.home)
        warehouse, _, checked = read(paths, self.home, read_settings(self.home).formats)
        warn_of(checked.contradictions)
        return warehouse

    def has_read(self, uri: str) -> bool:
        """Whether a file was read, as it was then."""
        query = "SELECT count(*) FROM sources WHERE uri = ?"
        there = [warehouse for paths, warehouse in self._open.items() if paths]
        return uri in self._uris or any(one.rows(query, [uri])[0][0] for one in there)

    def forget(self) -> None:
        """Close everything, so that the next region reads the files again."""
        for warehouse in self._open.values():
            warehouse.close()
        self._open.clear()
        self._uris.clear()

    def __enter__(self) -> Sources:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()


def require_sources_inside(folder: Path, paths: Sequence[Path], root: Path) -> list[Path]:
    """Files and folders that a file in `folder` names, all of them in its repository, as absolute
    paths: on a command line a word may also be a pattern, a URL or standard input.

    `root` is that of the names of sources. Raises BenchError for what is missing, or for a link out
    of the repository: a source, a record, or a facts.toml that applies to one.
    """
    for path in paths:
        if not path.exists():
            raise BenchError(f"no such file or folder: {path}", hint="check the path")
    home = checkout_of(folder)
    files = [Path(file) for file in files_below(paths, lambda *_: None)]
    records = [record for file in files if is_marker(file) for record in files_of_folder(file)]
    facts = facts_files(root, {uri_of(file, root).rpartition("/")[0] for file in files})
    # One in a folder outside is the user's own, found from where the command runs.
    facts = [file for file in facts if file.parent.resolve().is_relative_to(home)]
    for file in (*files, *records, *facts):
        require_inside(home, file, os.path.relpath(file, folder))
    return [path.absolute() for path in paths]
