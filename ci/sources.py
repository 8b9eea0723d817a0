"""Sources of regions and diffs: paths read into memory or a warehouse, each opened once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..ingest.folders import files_below
from ..project.read import read
from ..project.settings import find_db, find_home, inside, read_settings
from ..schema.warehouse import Warehouse, open_read
from ..terminal.messages import warn_of


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
    _open: dict[tuple[Path, ...], Warehouse] = field(default_factory=dict)

    def usual(self) -> Warehouse:
        """The paths for a region without a source of its own."""
        return self.of(self.paths())

    def paths(self) -> tuple[Path, ...]:
        """The paths to read; empty for the warehouse."""
        if self.given or self.db or os.environ.get("BENCH_DB"):
            return self.given
        return read_settings().sources

    def of(self, paths: Sequence[Path]) -> Warehouse:
        """These paths as a warehouse in memory; without paths, the warehouse file."""
        key = tuple(paths)
        if key not in self._open:
            self._open[key] = (
                self._read(key) if key else open_read(find_db(self.db), self.lock_timeout)
            )
        return self._open[key]

    def kept(self, paths: Sequence[Path]) -> Warehouse | None:
        """The warehouse of these paths, if they were read before."""
        return self._open.get(tuple(paths))

    def _read(self, paths: Sequence[Path]) -> Warehouse:
        if tuple(paths) != self.given:
            refuse_links_out(paths)
        warehouse, _, checked = read(paths, self.home, read_settings(self.home).formats)
        warn_of(checked.contradictions)
        return warehouse

    def in_memory(self) -> list[Warehouse]:
        """The warehouses read from files so far."""
        return [warehouse for paths, warehouse in self._open.items() if paths]

    def forget(self) -> None:
        """Close everything, so that the next region reads the files again."""
        for warehouse in self._open.values():
            warehouse.close()
        self._open.clear()

    def __enter__(self) -> Sources:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()


def refuse_links_out(paths: Sequence[Path]) -> None:
    """Raises BenchError for a link below the paths that points outside of the repository."""
    there = [path for path in paths if path.exists()]
    for file in map(Path, files_below(there, lambda *_: None)):
        inside(file.parent, file.name)
