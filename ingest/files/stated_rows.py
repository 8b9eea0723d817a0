"""The rows of one revision of a document, as they are compared with those of the next.

The content of a row is its settings and measurements, as text: never its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...records.reading import looks_like_record, rows_of_record
from ...schema.rows import Row, Rows, content_id
from ...vocabulary.fields import fields
from ...vocabulary.secrets import redact_text
from ..documents.csv_files import read_separated
from ..documents.tables import read_markdown
from .content import Content

_SEPARATED = {".csv": "csv", ".tsv": "tsv"}
# Columns of a run that neither configure nor measure it.
_ASIDE = frozenset((
    "source_id", "run_id", "table_id", "origin", "row_number", "line", "last_line", "segment",
    "status_line", "status_reason", "status", "flags", "kind", "notes", "job_ids", "date",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatedRow:
    """A row; `run_id` and `line` are its place, the rest its content.

    `settings`: its configuration; `printed`: its measurements as written, by column or metric.
    """

    run_id: str
    line: int
    section: str
    settings: Mapping[str, str]
    printed: Mapping[str, str]
    numbers: Mapping[str, float]

    def has_content_of(self, other: StatedRow) -> bool:
        """Whether both have the same content."""
        return self.settings == other.settings and self.printed == other.printed


_CELL = ["table_id", "row_number", "column_number", "name", "raw", "kind", "value"]


def source_of(uri: str) -> str:
    """The id of the source of a document at its first ingest."""
    return content_id("source", uri)


def stated_rows(uri: str, data: bytes) -> list[StatedRow]:
    """The measured rows of a document, or of a record, in their order; none of any other file."""
    suffix = Path(uri).suffix.lower()
    if suffix in (".records", ".toml"):
        return []
    if suffix == ".json":
        rows = (
            rows_of_record(data, Path(uri).name, source_of(uri))
            if looks_like_record(data)
            else Rows()
        )
    else:
        text, _ = Content(Path(uri), len(data), data=data).text()
        read = _SEPARATED.get(suffix)
        rows, _ = (
            read_separated(text, source_of(uri), read)
            if read
            else read_markdown(text, source_of(uri))
        )
    return list(_stated(rows))


def _stated(rows: Rows) -> Iterator[StatedRow]:
    tables = {row["table_id"]: row for row in rows.by_table.get("tables", ())}
    topology = {row["run_id"]: row for row in rows.by_table.get("topology", ())}
    flags, measured, statistics = (
        _by(rows.by_table.get(name, ()), "run_id")
        for name in ("env_flags", "measurements", "run_stats")
    )
    unnamed = _unnamed(rows, tables)
    for run in rows.by_table.get("runs", ()):
        run_id, table_id = run["run_id"], run.get("table_id")
        settings = _settings(run) | _settings(topology.get(run_id, {}))
        settings |= {f"env {row['name']}": str(row["value"]) for row in flags.get(run_id, ())}
        printed, numbers = _measured(measured.get(run_id, ()), statistics.get(run_id, ()))
        for cell in unnamed.get((table_id, run.get("row_number")), ()):
            if cell.number is None:
                settings[cell.heading] = cell.raw
            else:
                printed[cell.heading], numbers[cell.heading] = cell.raw, cell.number
        if run.get("status") != "ok":
            printed["status"] = str(run["status"])
        path = tables.get(table_id, {}).get("heading_path") or ()
        section = " / ".join(map(str, path)) if isinstance(path, (list, tuple)) else ""
        yield StatedRow(
            str(run_id), _whole(run["line"]), redact_text(section),
            _clean(settings), _clean(printed), numbers,
        )  # fmt: skip


def _clean(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: redact_text(texts[name]) for name in sorted(texts)}  # in one order: a key


def _whole(value: object) -> int:
    assert isinstance(value, int), "a line is a number"
    return value


def _by(rows: Sequence[Row], key: str) -> Mapping[object, list[Row]]:
    groups: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.get(key)].append(row)
    return groups


def _settings(row: Row) -> dict[str, str]:
    return {
        name: str(value)
        for name, value in row.items()
        if name not in _ASIDE and value is not None and value != []
    }


def _measured(
    measurements: Sequence[Row], statistics: Sequence[Row]
) -> tuple[dict[str, str], dict[str, float]]:
    printed: dict[str, str] = {}
    numbers: dict[str, float] = {}
    for row in measurements:
        name = str(row["metric"])
        if name not in printed:
            printed[name] = str(row["raw"])
            _add_number(numbers, name, row["value"])
    for row in statistics:
        name = str(row["metric"])
        if name not in printed and name not in fields():
            printed[name] = f"{row['median']:.6g}" if isinstance(row["median"], float) else ""
            _add_number(numbers, name, row["median"])
    return printed, numbers


def _add_number(numbers: dict[str, float], name: str, value: object) -> None:
    if isinstance(value, (int, float)):
        numbers[name] = float(value)


@dataclass(frozen=True, slots=True)
class _Cell:
    heading: str
    raw: str
    number: float | None


def _unnamed(
    rows: Rows, tables: Mapping[object, Row]
) -> Mapping[tuple[object, object], list[_Cell]]:
    """Cells under headings that name nothing known, by table and row number.

    Numbers are results, words are settings.
    """
    found: dict[tuple[object, object], list[_Cell]] = defaultdict(list)
    open_tables = [one for one, row in tables.items() if "" in _texts(row["columns"])]
    if not open_tables:
        return found
    cells = [*rows.by_table.get("cells", ())]
    for many in rows.tables.get("cells", ()):
        if many["table_id"][0].as_py() in open_tables:
            cells += many.select(_CELL).to_pylist()
    for cell in cells:
        headings = _texts(tables.get(cell["table_id"], {}).get("headings"))
        at = _whole(cell["column_number"]) - 1
        if not cell.get("name") and at < len(headings) and cell["raw"]:
            value = cell["value"] if cell["kind"] == "number" else None
            number = float(value) if isinstance(value, (int, float)) else None
            one = _Cell(headings[at], str(cell["raw"]), number)
            found[cell["table_id"], cell["row_number"]].append(one)
    return found


def _texts(value: object) -> Sequence[str]:
    return [str(one) for one in value] if isinstance(value, (list, tuple)) else ()
