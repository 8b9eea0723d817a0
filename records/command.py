"""`bench export --records`: open, write, tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..schema.errors import BenchError
from ..terminal.messages import say
from ..terminal.opening import open_for_reading
from .export import export_records
from .scrub import Scrubber, parse_kinds


def export_to(
    folder: Path | None, scrub: str | None, paths: Sequence[Path], db: Path | None, timeout: float
) -> None:
    """Write a record of every run; raises BenchError for --scrub without a folder."""
    if folder is None:
        raise BenchError("--scrub is for records", hint="bench export --records FOLDER --scrub ...")
    scrubber = Scrubber(parse_kinds(scrub))
    with open_for_reading(db, paths, timeout) as warehouse:
        done = export_records(warehouse, folder, scrubber)
    parts = [f"{done.written} written"]
    parts += [f"{done.unchanged} unchanged"] if done.unchanged else []
    parts += [f"{done.removed} of older states removed"] if done.removed else []
    folders = "1 folder" if done.folders == 1 else f"{done.folders} folders"
    say(f"records: {', '.join(parts)}, in {folders} below {folder}")
    say(f"next: bench report {folder}")
