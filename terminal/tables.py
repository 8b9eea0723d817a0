"""Rendering and output of tables: for terminals, READMEs, spreadsheets, programs, web pages."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Sequence
from enum import StrEnum
from pathlib import Path

from ..schema.errors import BenchError, did_you_mean
from ..vocabulary import output_recording
from ..vocabulary.atomic import atomic_write
from .messages import info

_PAGES = (".html", ".htm", ".xhtml")


class Format(StrEnum):
    """The output formats of tables."""

    TABLE = "table"
    MD = "md"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    HTML = "html"


Rows = Sequence[Sequence[object]]


def default_format() -> Format:
    """A table on a terminal, else markdown."""
    return Format.TABLE if sys.stdout.isatty() else Format.MD


PICTURES = frozenset(("gif", "jpeg", "jpg", "pdf", "png", "svg", "webp"))


def choose_format(chosen_format: Format | None, output: Path | None = None) -> Format:
    """The requested format, else that of the output file's suffix, else the default."""
    if chosen_format or not output:
        return chosen_format or default_format()
    suffix = output.suffix.lstrip(".").lower()
    if suffix in PICTURES:
        raise BenchError(
            f"cannot write a table as .{suffix}",
            where=str(output),
            hint="a listing is .md, .csv, .tsv, .json or .html; bench chart and some answers"
            " draw .svg and .png",
        )
    return Format(suffix) if suffix in set(Format) - {Format.TABLE} else Format.MD


def render(
    columns: Sequence[str],
    rows: Rows,
    format: Format,
    *,
    width: int | None = None,
    exact: bool = False,
    keep: Collection[str] = (),
    derived: Collection[str] = (),
    chosen: bool = False,
    common: bool = False,
) -> str:
    """The table as text with a final newline; numbers are aligned to the right.

    `exact` keeps all digits in formats for people, too, as for SQL queries. On a narrow terminal,
    `derived` columns are dropped first, columns to `keep` last, and `chosen` ones never: rows
    become records. `common` prints values shared by all rows once.
    """
    from . import output_formats, text_table

    if exact and format in (Format.TABLE, Format.MD, Format.HTML):
        rows = [[output_formats.exact(value) for value in row] for row in rows]
    if format is Format.TABLE:
        width = width or shutil.get_terminal_size().columns
        grid = output_formats.as_columns(columns, rows, keep, derived)
        return text_table.table(grid, width, chosen=chosen, common=common)
    write = {
        Format.MD: output_formats.md,
        Format.CSV: output_formats.csv,
        Format.TSV: output_formats.tsv,
        Format.JSON: output_formats.json,
        Format.HTML: output_formats.html,
    }[format]
    return write(columns, rows)


def emit(text: str, output: Path | None = None, *, name: str = "") -> None:
    """Write to stdout, or atomically to a file; `name` is the file's name in a folder.

    All output to stdout passes here, since logs are untrusted: control and bidi characters are
    made visible, and no line can be a command to the host of a job.
    """
    from ..vocabulary.printable import logged, visible

    if output is None or str(output) == "-":
        to_stdout(logged(text))
        return
    file = _target(output, name)
    if file.suffix.lower() in _PAGES and not text.startswith("<!doctype html>"):
        # A browser would run scripts in texts of a source.
        raise BenchError("this is not written as HTML", where=str(file),
                         hint=f"-o {file.with_suffix('.md').name}")  # fmt: skip
    try:
        data = visible(text).encode("utf-8", "backslashreplace")
        atomic_write(file, data, named=not output.is_dir())
    except OSError as error:
        why = error.strerror or str(error)
        raise BenchError("cannot write the output", why=why, where=str(file)) from error
    info(f"wrote {file}")


def to_stdout(text: str) -> None:
    """Write a text that is safe for a terminal, as UTF-8, independent of platform and locale."""
    output_recording.note("stdout", text)
    data = text.encode("utf-8", "backslashreplace")
    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):
        rest = memoryview(data)
        while rest:  # unbuffered (PYTHONUNBUFFERED), a write may be partial
            rest = rest[sys.stdout.buffer.write(rest) or 0 :]
        sys.stdout.buffer.flush()
    else:
        sys.stdout.write(data.decode("utf-8"))


def _target(output: Path, name: str) -> Path:
    if output.is_dir():
        if not name:
            raise BenchError(
                "output is a directory", where=str(output), hint=f"-o {output / 'NAME.md'}"
            )
        return output / name
    if not output.parent.is_dir():
        raise BenchError(
            "output directory does not exist",
            where=str(output.parent),
            hint=f"mkdir -p {output.parent}",
        )
    return _followed(output) if output.is_symlink() else output


def _followed(link: Path) -> Path:
    """Where a link leads that `-o` names; raises BenchError where that is outside the repository.

    Who made the folder may have put it there. /dev/stdout is a link too, of the system; in /dev/shm
    anyone makes folders.
    """
    from ..project.repository import inside
    from ..vocabulary.printable import typed

    file = link.resolve()
    _, *top = link.absolute().parts[:3]
    if top[0] not in ("dev", "proc") or top == ["dev", "shm"]:
        try:
            inside(link.parent, link.name)
        except BenchError as error:
            error.why = f"the link leads to {file}"
            error.hint = f"say so yourself: -o {typed(str(file))}"
            raise
    return file


def parse_columns(text: str, columns: Sequence[str]) -> list[str]:
    """Parse columns `a,b,c`, with the spelling of `columns`."""
    known = {name.casefold(): name for name in columns}
    chosen: list[str] = []
    for word in filter(None, (part.strip().strip('"') for part in text.split(","))):
        if word.casefold() not in known:
            raise BenchError(f"unknown column {word!r}", hint=did_you_mean(word, columns))
        if known[word.casefold()] not in chosen:
            chosen.append(known[word.casefold()])
    if not chosen:
        raise BenchError("no columns given", hint=f"known: {', '.join(columns)}")
    return chosen
