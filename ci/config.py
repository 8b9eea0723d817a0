"""`bench ci config`: validate bench.toml."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..project.repository import find_file
from ..project.settings import read_file, require_own
from ..schema.errors import BenchError
from ..terminal.messages import info
from .pages import matching


def validate(files: Sequence[Path]) -> None:
    """Read each file; raises BenchError for the first error."""
    found = [*files] or [file for file in [find_file(Path.cwd())] if file]
    if not found:
        raise BenchError("no bench.toml found", hint="bench.toml is optional")
    for file in found:
        settings = read_file(file)
        if settings.db:
            require_own(settings.db, file, file.parent)
        for path in (*settings.sources, *filter(None, [settings.templates, settings.formats])):
            if not path.exists():
                raise BenchError(
                    f"{path} does not exist", why="set in bench.toml", where=str(file),
                    hint="paths are relative to bench.toml",
                )  # fmt: skip
        for pattern in settings.pages:
            matching(file.parent, pattern)
        info(f"{file}: valid")
