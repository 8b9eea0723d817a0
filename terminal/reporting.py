"""`bench report` and `bench runs`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..project.settings import find_templates
from ..schema.errors import BenchError
from ..vocabulary.format import counted, percent, significant
from .messages import info, warn
from .source import Source
from .tables import PICTURES, Format, choose_format, emit, render

if TYPE_CHECKING:
    from ..decide.query import Query, TableRef
    from ..reports.page import Page
    from ..schema.warehouse import Warehouse


# The model and its results: dropped last on a narrow terminal.
_KEPT = ("size", "device", "dp/tp/pp", "s/it", "tokens/s/device")
_RATE = "tokens_per_s_per_device"
_HEADS = {"step_time_s": "s/it", "tokens_per_s_per_device": "tokens/s/device"}
_SUFFIXES = (".md", ".markdown", ".txt", ".csv", ".tsv", ".json", ".html", ".htm")  # of files


def split(arguments: Sequence[str]) -> tuple[str, tuple[Path, ...]]:
    """The report's name, if the first argument is one, and the paths; `./model` is a path."""
    from ..reports import computed
    from ..reports.page import report_names

    first = arguments[0] if arguments else ""
    if first in report_names() or computed.offers(computed.PAGE, first):
        return first, tuple(map(Path, arguments[1:]))
    missing = [word for word in arguments if not Path(word).exists()]
    if missing and (missing := _not_named(missing)):
        known = sorted([*report_names(), *computed.reports(computed.PAGE)])
        raise BenchError(
            f"{missing[0]!r} is neither a report nor an existing file",
            why=f"reports: {', '.join(known)}",
            hint="check the path",
        )
    return "model", tuple(map(Path, arguments))


def _not_named(words: Sequence[str]) -> list[str]:
    """The arguments that are not a pattern, standard input or address."""
    from ..ingest.files.inputs import (
        is_named_input,  # imported late: the log readers, which pages do not need
    )

    return [word for word in words if not is_named_input(word)]


def report(
    name: str,
    source: Source,
    query: Query,
    *,
    templates: Path | None = None,
    suggestions: bool = False,
    flops: str | None = None,
    form: Format | None = None,
    output: Path | None = None,
) -> None:
    """Write a page, or with --table reproduce a published table."""
    from ..reports import computed

    if computed.offers(computed.PAGE, name):
        from .computed_reports import report as write_computed

        write_computed(name, source, query, form, output)
        return
    if query.columns is not None or query.group is not None:
        raise BenchError(
            f"--columns and --group do not apply to report {name!r}",
            why="it is a page, not a table",
            hint="use them with bench runs, bench best or bench report scaling",
        )  # fmt: skip
    with source.opened(query.table) as warehouse:
        if query.table:
            _table(warehouse, query.table, form, output)
            return
        from ..reports.page import page

        made = page(
            warehouse,
            name,
            query,
            templates=find_templates(templates),
            suggestions=suggestions,
            restated=_restated(warehouse, name, flops) if flops is not None else None,
        )
        _write_page(warehouse, made, query, form, output)


def runs(source: Source, query: Query, form: Format | None, output: Path | None) -> None:
    """List the selected runs."""
    from ..decide.selection import listed_columns, select
    from ..reports import listing
    from .computed_reports import next_words
    from .summary import show_overview
    from .tables import parse_columns

    skipped = list[str]()
    with source.opened(skipped=skipped) as warehouse:
        select(warehouse, query)
        known = list(listed_columns(warehouse))
        by = parse_columns(query.group, known) if query.group else None
        aside = ["runs"] if not query.all_rows else []
        columns = parse_columns(query.columns, [*known, *aside]) if query.columns else None
        every = query.all_rows or (columns is not None and by is None and "runs" not in columns)
        names, rows = (
            listing.every_run(warehouse, columns)
            if every
            else listing.grouped(warehouse, by, columns)
        )
        form = choose_format(form, output)
        chosen, shown = columns is not None, [*map(list, rows)]
        if form is Format.TABLE and not chosen and by is None:
            names, shown = _for_people(warehouse, names, rows)
        one_model = "size" not in names or len({row[names.index("size")] for row in shown}) == 1
        text = render(names, shown, form, keep=_KEPT[one_model:], chosen=chosen, common=not chosen)
        emit(text, output, name="runs.md")
        if source.paths:
            show_overview(warehouse, skipped, source.paths)
        command = _show_first(names, shown, source.paths)
        info(f"{counted(len(rows), 'row')}{next_words(command)}")


def _for_people(
    warehouse: Warehouse, names: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> tuple[list[str], list[list[Any]]]:
    """The table with short source names, and topologies in one column: 8/1/1."""
    from ..reports.computed import names_of

    short = names_of(warehouse)
    table = [dict(zip(names, row, strict=True)) for row in rows]
    heads = [*names]
    for head, parts, text in _JOINED:
        if set(parts) <= {*heads}:
            table = [{**row, head: text(*(row[part] for part in parts))} for row in table]
            heads[heads.index(parts[0])] = head
            heads = [name for name in heads if name not in parts]
    if "where" in heads:
        table = [{**row, "where": short.place(row["where"])} for row in table]
    if _RATE in heads and any(row[_RATE] for row in table):
        table = [{**row, _RATE: row[_RATE] or _other_result(row)} for row in table]
    return [_HEADS.get(head, head) for head in heads], [
        [row[head] for head in heads] for row in table
    ]


def _other_result(row: dict[str, Any]) -> str | None:
    """What a row has that states neither step time nor rate: another result with its unit, or how
    it failed."""
    if row.get("step_time_s") is not None:
        return None
    if row.get("tflops") is not None:
        return f"{significant(row['tflops'], 4)} TFLOPs"
    if row.get("mfu") is not None:
        return f"{percent(row['mfu'], 1)} MFU"
    return row["status"] if row.get("status") not in ("ok", "ended", "running") else None


def _split(*parts: int | None) -> str | None:
    return "/".join("-" if part is None else str(part) for part in parts) if any(parts) else None


def _counts(nodes: int | None, ranks: int | None) -> str | None:
    return f"{nodes or '-'} ({ranks})" if ranks else None if nodes is None else str(nodes)


_JOINED: Sequence[tuple[str, Sequence[str], Callable[..., str | None]]] = (
    ("nodes (ranks)", ("nodes", "world_size"), _counts),
    ("dp/tp/pp", ("dp", "tp", "pp"), _split),
)


def _show_first(names: Sequence[str], rows: Sequence[Sequence[Any]], paths: Sequence[Path]) -> str:
    """The command line that shows the first row's run; '' if no row or no place is listed."""
    if "where" not in names or not rows:
        return ""
    words = (str(rows[0][names.index("where")]), *map(str, paths))
    return shlex.join(("bench", "show", *words))


def _write_page(
    warehouse: Warehouse, made: Page, query: Query, form: Format | None, output: Path | None
) -> None:
    from ..reports.write import page_text, write_folder

    folder = _is_folder(output)
    if folder and output and form in (None, Format.MD):
        for file in write_folder(warehouse, made, output):
            info(f"wrote {file}")
        return
    if folder and output:
        output.mkdir(parents=True, exist_ok=True)
    form = form or (choose_format(None, output) if output else Format.MD)
    if form in (Format.CSV, Format.TSV):
        emit(_rows(warehouse, form), output, name=f"runs.{form}")
    elif form is Format.HTML:
        from ..site.report_page import report_page

        emit(report_page(warehouse, made, query), output, name="page.html")
    else:
        emit(page_text(made, form.value), output, name=f"page.{form}")


def _restated(warehouse: Warehouse, report: str, formula: str) -> dict[str, dict[str, Any]]:
    """Every run's TFLOP/s by a formula, by run id."""
    if report != "model":
        raise BenchError(
            f"--flops does not apply to report {report!r}", hint=f"bench report --flops {formula}"
        )
    from dataclasses import asdict

    from ..audit.restate import is_hardware, restate

    return {
        one.run_id: asdict(one) | {"hardware": is_hardware(one.formula)}
        for one in restate(warehouse, formula)
    }


def _is_folder(output: Path | None) -> bool:
    """Whether a page is written to a folder, created if needed: a name without a suffix."""
    if output is None or str(output) == "-":
        return False
    suffix = output.suffix.lower()
    is_file = suffix in _SUFFIXES or suffix.lstrip(".") in PICTURES or output.exists()
    return output.is_dir() or not is_file


def _rows(warehouse: Warehouse, form: Format) -> str:
    """The runs of a page, for spreadsheet formats."""
    from ..decide.selection import listed_columns
    from ..reports.listing import every_run

    return render(*every_run(warehouse, list(listed_columns(warehouse))), form)


def _table(warehouse: Warehouse, table: TableRef, form: Format | None, output: Path | None) -> None:
    from ..reports.sweep import regenerate

    regenerated = regenerate(warehouse, table.file, table.number)
    for cell in regenerated.not_rebuilt:
        warn(f"{cell}: could not be reproduced from its parsed value; kept verbatim")
    form = form or (choose_format(None, output) if output else Format.MD)
    if form is not Format.MD and not regenerated.headings:
        raise BenchError(
            f"{form} output needs a single table",
            why=f"{table.file} has several tables",
            hint=f"--table {table.file}:1",
        )
    text = (
        regenerated.markdown
        if form is Format.MD
        else render(regenerated.headings, regenerated.rows, form)
    )
    emit(text, output, name=f"table.{form}")
