"""`bench doctor`: read, sort by shape, list or draft."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import BenchError
from .messages import say, warn
from .settings import read_settings
from .tables import Format, choose_format, emit, render

if TYPE_CHECKING:
    from ..doctor.shapes import Diagnosis

COLUMNS = ("shape", "lines", "looks like", "first", "text")
SHOWN = 20


def diagnose(
    paths: Sequence[Path], all_rows: bool, form: Format | None, output: Path | None
) -> None:
    """List the shapes of the lines that no format reads."""
    found = _read(paths)
    shown = found.shapes if all_rows else found.shapes[:SHOWN]
    rows = [
        (place, one.count, "a measurement" if one.measures else None, one.first, one.text)
        for place, one in enumerate(shown, 1)
    ]
    if rows:
        emit(render(COLUMNS, rows, choose_format(form, output)), output, name="doctor.md")
    unread = sum(one.count for one in found.shapes)
    say(
        f"{found.lines} lines: {found.lines_read} read, {found.lines_known} known to carry "
        f"nothing, {unread} not read, of {len(found.shapes)} shapes"
    )
    if len(shown) < len(found.shapes):
        say(f"{len(found.shapes) - len(shown)} more shapes: --all")
    if any(one.measures for one in found.shapes):
        logs = " ".join(str(path) for path in paths)
        say(f"next: bench doctor {logs} --draft 1 -o formats/mine.toml")


def propose(paths: Sequence[Path], number: int, output: Path | None) -> None:
    """Write a format for one shape; raises BenchError when there is none of this number."""
    from ..doctor.draft import draft
    from ..ingest.dialect import dialects

    shapes = _read(paths).shapes
    if number > len(shapes):
        why = f"{len(shapes)} shapes are not read" if shapes else "every line is read"
        raise BenchError(f"there is no shape {number}", why=why, hint="bench doctor LOG lists them")
    if output is not None and output.is_file():
        raise BenchError(f"{output} is there", hint="another -o, or remove it first")
    shape = shapes[number - 1]
    text = draft(shape, shape.first, dialects(_own_formats()))
    if output is not None and output.suffix == ".toml":
        output.parent.mkdir(parents=True, exist_ok=True)
    emit(text, output, name="mine.toml")
    say('next: look it over, name its folder in bench.toml (formats = "formats"), bench ingest LOG')


def _read(paths: Sequence[Path]) -> Diagnosis:
    from ..doctor.shapes import diagnose as read
    from ..ingest.dialect import dialects

    return read(paths, Path.cwd(), dialects(_own_formats()), warn)


def _own_formats() -> Path | None:
    """The folder that `bench.toml` names, unless the first draft has yet to make it."""
    own = read_settings().formats
    return own if own and own.is_dir() else None
