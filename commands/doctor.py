"""`bench doctor`: unread lines of logs, and formats drafted for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..project.settings import read_settings
from ..schema.errors import BenchError
from ..terminal import options as o
from ..terminal.messages import info, warn
from ..terminal.tables import Format, choose_format, emit, render
from ..vocabulary.format import counted

if TYPE_CHECKING:
    from ..doctor.shapes import Diagnosis

COLUMNS = ("shape", "lines", "type", "first", "text")
SHOWN = 20  # shapes listed without --all


@o.command()
def doctor(
    paths: Annotated[
        list[Path], typer.Argument(metavar="LOG", help="Logs, or directories of logs.")
    ],
    draft: Annotated[
        int | None,
        typer.Option(
            "--draft", metavar="N", min=1, help="Draft a format for the N-th listed shape."
        ),
    ] = None,
    all_rows: o.All = False,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """List unread log lines, grouped by shape; --draft writes a format."""
    if draft is None:
        _list(paths, all_rows, format, output)
    else:
        _draft(paths, draft, output)


def _list(paths: Sequence[Path], all_rows: bool, form: Format | None, output: Path | None) -> None:
    """List the shapes of unread lines."""
    diagnosis = _diagnosed(paths)
    shown = diagnosis.shapes if all_rows else diagnosis.shapes[:SHOWN]
    rows = [
        (place, one.count, "metrics" if one.measures else None, one.first, one.text)
        for place, one in enumerate(shown, 1)
    ]
    if rows:
        emit(render(COLUMNS, rows, choose_format(form, output)), output, name="doctor.md")
    unread = sum(shape.count for shape in diagnosis.shapes)
    info(
        f"{counted(diagnosis.lines, 'line')}: {diagnosis.lines_read} read, "
        f"{diagnosis.lines_known} ignored (no data),"
        f" {unread} unread in {counted(len(diagnosis.shapes), 'shape')}"
    )
    if len(shown) < len(diagnosis.shapes):
        info(f"{counted(len(diagnosis.shapes) - len(shown), 'more shape')} (show with --all)")
    if any(shape.measures for shape in diagnosis.shapes):
        logs = " ".join(str(path) for path in paths)
        info(f"next: bench doctor {logs} --draft 1 -o formats/mine.toml")


def _draft(paths: Sequence[Path], number: int, output: Path | None) -> None:
    """Draft a format for one shape; raises BenchError for an unknown number."""
    from ..doctor.draft import draft
    from ..ingest.logs.dialect import dialects

    shapes = _diagnosed(paths).shapes
    if number > len(shapes):
        why = f"{len(shapes)} unread shapes" if shapes else "no unread lines"
        raise BenchError(f"no shape {number}", why=why, hint="list shapes with bench doctor LOG")
    if output is not None and output.is_file():
        raise BenchError(f"{output} already exists", hint="remove it, or choose another -o")
    shape = shapes[number - 1]
    text = draft(shape, shape.first, dialects(_own_formats()))
    if output is not None and output.suffix == ".toml":
        output.parent.mkdir(parents=True, exist_ok=True)
    emit(text, output, name="mine.toml")
    info('next: review it, set formats = "DIR" in bench.toml, then bench ingest LOG')


def _diagnosed(paths: Sequence[Path]) -> Diagnosis:
    from ..doctor.shapes import diagnose
    from ..ingest.logs.dialect import dialects

    return diagnose(paths, Path.cwd(), dialects(_own_formats()), warn)


def _own_formats() -> Path | None:
    """The formats directory of bench.toml, if it exists: the first draft creates it."""
    own = read_settings().formats
    return own if own and own.is_dir() else None
