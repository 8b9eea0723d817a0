"""The warehouse that a command reads: a file, or one in memory made of paths."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import BenchError
from ..schema.location import home_of
from ..vocabulary.output_recording import note_source
from .messages import warn, warn_of

if TYPE_CHECKING:
    from ..decide.query import TableRef
    from ..schema.warehouse import Warehouse

LOCK_TIMEOUT = 5.0
_NEXT = re.compile(r",(?=\s*[A-Za-z_][\w.-]*\s*=)")  # `gbs=1,024,tp=4` has two pairs
Overrides = Mapping[str, str | None]  # as in `schema.annotations`, which takes longer to import


def parse_overrides(texts: Sequence[str]) -> dict[str, str | None]:
    """Parse the repeatable `--set`; an empty value removes an override.

    Raises BenchError for an unknown column or an invalid value.
    """
    from ..schema.annotatable import annotatable_fields, parse_value, unknown_field

    found: dict[str, str | None] = {}
    for part in (part for text in texts for part in _NEXT.split(text)):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals:
            hint = "--set device=A64FX,nodes=64"
            raise BenchError(f"--set expects NAME=VALUE, not {part!r}", hint=hint)
        if name not in annotatable_fields():
            raise unknown_field(name, "--set")
        made = parse_value(name, value, "--set") if value else None
        if found.setdefault(name, made) != made:
            raise BenchError(
                f"--set has two values for {name}: {found[name]} and {made}",
                hint="ingest sources with different values separately",
            )
    return found


@dataclass(frozen=True, slots=True)
class Source:
    """The source of runs: paths, else the warehouse; `overrides` are the values of --set.

    `as_of` selects documents as of a date or commit in git, `known_at` the content of the warehouse
    at that time (UTC), or at a numbered commit of a shared one.
    """

    db: Path | None = None
    paths: tuple[Path, ...] = ()
    lock_timeout: float = LOCK_TIMEOUT
    overrides: Overrides = field(default_factory=dict)
    as_of: str | None = None
    known_at: datetime | int | None = None
    corrected: bool = True  # whether annotations of users apply

    @property
    def root(self) -> Path:
        """The folder that source names are relative to."""
        from ..project.settings import find_db

        return Path.cwd() if self.paths else home_of(find_db(self.db))

    def opened(
        self,
        table: TableRef | None = None,
        skipped: list[str] | None = None,
        *,
        audited: bool = True,
    ) -> Warehouse:
        """Open the warehouse file, or read the paths into memory.

        Without paths, a file given to --table is read. `skipped` collects files without log or
        table; callers that audit themselves pass `audited=False`. Raises NothingRecognised if
        the paths have no log or benchmark table.
        """
        from ..project.settings import find_db

        paths = self.paths
        if table and not paths and Path(table.file).exists():
            paths = (Path(table.file),)
        if self.is_past:
            return self._past(paths)
        if not paths:
            if self.overrides:
                raise self._without_paths()
            return self._file(find_db(self.db))
        return self._read(paths, skipped, audited)

    @property
    def is_past(self) -> bool:
        """Whether it selects an earlier time."""
        return self.as_of is not None or self.known_at is not None

    def _past(self, paths: tuple[Path, ...]) -> Warehouse:
        from ..project.past_documents import moment, read_as_of
        from ..project.read import open_settled, open_settled_commit
        from ..project.settings import find_db, read_settings
        from ..schema.as_of import require_known, show_as_known_at

        if paths:
            raise BenchError(
                "--as-of and --known-at apply to the warehouse, not to paths",
                hint="bench ingest --history PATH, then leave the paths out",
            )
        if not self.corrected:
            raise BenchError(
                "--without-corrections applies to current rows, not to earlier ones",
                hint="leave --as-of and --known-at out, or --without-corrections",
            )
        if self.as_of is None and self.overrides:
            raise self._without_paths()
        db = find_db(self.db)
        if isinstance(self.known_at, int):
            known_at, warehouse = None, open_settled_commit(db, self.known_at)
        else:
            known_at, warehouse = self.known_at, open_settled(db, self.lock_timeout)
        try:
            if self.as_of is None:
                if known_at is not None:
                    require_known(warehouse, known_at)
                    show_as_known_at(warehouse, known_at)
                return warehouse
            when = moment(warehouse, self.root, self.as_of, _time(self.as_of))
            formats = read_settings().formats
            made, checked = read_as_of(
                warehouse, self.root, when, known_at, formats, self.overrides
            )
        except BaseException:
            warehouse.close()
            raise
        warehouse.close()
        warn_of(checked.contradictions)
        return made

    def _file(self, db: Path) -> Warehouse:
        from ..project.read import open_settled
        from ..schema.materialized import views_are_stored

        if self.corrected:
            warehouse = open_settled(db, self.lock_timeout)
            note_source(committed=not warehouse.original and views_are_stored(warehouse))
            if warehouse.remade:
                more = f", and {len(warehouse.remade) - 1} more" if warehouse.remade[1:] else ""
                warn(f"{db} was changed by others, and is made anew: {warehouse.remade[0]}{more}")
            return warehouse
        from ..schema.as_of import without_annotations

        return without_annotations(db, self.lock_timeout)

    def _read(self, paths: tuple[Path, ...], skipped: list[str] | None, audited: bool) -> Warehouse:
        from ..ingest.files.pipeline import cores
        from ..project.read import read
        from ..project.settings import read_settings

        warehouse, summary, checked = read(
            paths, Path.cwd(), read_settings().formats, self.overrides, audited=audited,
            processes=cores(), unreadable=lambda uri, reason: warn(f"{uri}: {reason}"),
            given=None if self.corrected else (),
        )  # fmt: skip
        note_source(committed=True)
        if skipped is not None:
            skipped += summary.skipped
        warn_of(checked.contradictions)
        return warehouse

    def _without_paths(self) -> BenchError:
        text = ",".join(f"{name}={value or ''}" for name, value in self.overrides.items())
        return BenchError(
            "--set needs a PATH",
            why="values for sources in the warehouse are set when they are ingested",
            hint=f"bench ingest PATH --set {text}",
        )


def _time(text: str) -> datetime | None:
    """Parse a time; None for other text, such as a commit."""
    import typer

    from .time_options import parse_moment

    try:
        return parse_moment(text)
    except typer.BadParameter:
        return None
