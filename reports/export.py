"""The public tables as files: Parquet, CSV or JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from ..schema.connect import explained
from ..schema.errors import BenchError
from ..schema.materialized import OF_PAGES, OF_RUNS, OF_SOURCES, materialize_if_cheap
from ..schema.warehouse import Warehouse
from ..vocabulary.printable import json_text, plain, visible
from .escape import csv_cell, csv_line

TABLES = (
    "sources",
    "tables",
    "cells",
    "facts",
    "runs",
    "topology",
    "env_flags",
    "iterations",
    "timers",
    "memory",
    "events",
    "evaluations",
    "measurements",
    "statements",
    "findings",
    "user_facts",
    "annotations",
    "beside",
    "companions",
    "run_stats",
    "quantities",
    "configurations",
    "left_out",
    "epochs",
    "regimes",
    "warnings",
)
_CHUNK = 10_000


def export(warehouse: Warehouse, folder: Path, form: str) -> list[tuple[str, int, str]]:
    """Write every public table to `folder` as TABLE.FORM; returns name, rows and file of each."""
    if folder.exists() and not folder.is_dir():
        raise BenchError(f"{folder} is a file", why="an export is a folder", hint="-o FOLDER")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        raise BenchError("the export cannot be written", why="Permission denied", where=str(folder),
                         hint="check the folder's permissions, or another -o FOLDER")  # fmt: skip
    with explained(warehouse.path):
        materialize_if_cheap(warehouse, *OF_RUNS, *OF_SOURCES, *OF_PAGES)
        return [_export(warehouse, name, folder / f"{name}.{form}", form) for name in TABLES]


def _export(warehouse: Warehouse, name: str, file: Path, form: str) -> tuple[str, int, str]:
    # An unpredictable name, so that nobody can have made it a link.
    part = file.with_name(f".{file.name}.{os.urandom(6).hex()}.part")
    query = f"SELECT * FROM {name} ORDER BY ALL"
    try:
        if form == "parquet":
            _write_parquet(warehouse, query, part)
        else:
            with part.open("w", encoding="utf-8", newline="") as stream:
                (_write_csv if form == "csv" else _write_json)(warehouse, query, stream)
        os.replace(part, file)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    [(rows,)] = warehouse.rows(f"SELECT count(*) FROM {name}")
    return name, rows, str(file)


def _write_parquet(warehouse: Warehouse, query: str, file: Path) -> None:
    """Write with Arrow: the warehouse itself is confined, and so writes no files."""
    import pyarrow.parquet  # rarely needed

    # Arrow's own protocol: the methods for it differ between releases of DuckDB. If it stayed open,
    # as when the disk is full, it would block the connection.
    with (
        pyarrow.RecordBatchReader.from_stream(warehouse.con.sql(query)) as batches,
        pyarrow.parquet.ParquetWriter(file, batches.schema) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)


def _write_csv(warehouse: Warehouse, query: str, stream: TextIO) -> None:
    names, chunks = _chunks(warehouse, query)
    stream.write(csv_line(names))
    for chunk in chunks:
        stream.writelines(csv_line([_field(value) for value in row]) for row in chunk)


def _write_json(warehouse: Warehouse, query: str, stream: TextIO) -> None:
    names, chunks = _chunks(warehouse, query)
    first = True
    stream.write("[")
    for chunk in chunks:
        for row in chunk:
            stream.write("\n" if first else ",\n")
            stream.write(json_text(dict(zip(names, row, strict=True))))
            first = False
    stream.write("\n]\n")


def _chunks(warehouse: Warehouse, query: str) -> tuple[list[str], Iterator[list[tuple[Any, ...]]]]:
    cursor = warehouse.con.execute(query)
    names = [column[0] for column in cursor.description or []]
    return names, iter(lambda: cursor.fetchmany(_CHUNK), [])


def _field(value: object) -> str:
    made = plain(value)
    if isinstance(made, bool):
        return str(made).lower()
    if made is None or isinstance(made, int | float):
        return "" if made is None else str(made)
    text = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)
    return csv_cell(visible(text))
