"""`bench report` and `bench runs`: open, select, lay out, write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..reports.table_ref import TableRef
from ..schema.errors import BenchError
from .messages import say, warn
from .opening import open_for_reading
from .options import LOCK_TIMEOUT
from .settings import find_templates
from .tables import Format, choose_format, emit, render

if TYPE_CHECKING:
    from ..reports.selection import Selection
    from ..schema.warehouse import Warehouse


ANSWERS = ("best", "scaling")  # reports that are computed, not laid out by a template
_SUFFIXES = (".md", ".markdown", ".txt", ".csv", ".tsv", ".json", ".html", ".htm")  # of files


@dataclass(frozen=True, slots=True)
class Words:
    """The words behind `bench report`: the name of a report, and paths to read."""

    report: str = "model"
    paths: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a reading command, as given."""

    db: Path | None
    words: Words
    model: str | None = None
    table: TableRef | None = None
    where: str | None = None
    since: datetime | None = None
    document: str | None = None
    all_rows: bool = False
    steps: int | None = None
    tokens: int | None = None
    templates: Path | None = None
    lock_timeout: float = LOCK_TIMEOUT
    suggestions: bool = False
    flops: str | None = None
    columns: str | None = None
    group: str | None = None


def split(arguments: Sequence[str]) -> Words:
    """The report's name, if the first word is one, and the paths; `./model` is always a path."""
    from ..reports.statements import report_names

    known = sorted([*report_names(), *ANSWERS])
    if arguments and arguments[0] in known:
        return Words(arguments[0], tuple(map(Path, arguments[1:])))
    missing = [word for word in arguments if not Path(word).exists()]
    if missing and (missing := _not_named(missing)):
        raise BenchError(
            f"{missing[0]!r} is neither a report nor a file",
            why=f"reports: {', '.join(known)}",
            hint="check the path",
        )
    return Words("model", tuple(map(Path, arguments)))


def _not_named(words: Sequence[str]) -> list[str]:
    """The words that are no pattern, standard input or address either."""
    from ..ingest.inputs import is_named_input  # the readers of logs, which pages do without

    return [word for word in words if not is_named_input(word)]


def report(asked: Asked, form: Format | None, output: Path | None) -> None:
    """Write a page, or with --table a published table again."""
    if asked.words.report in ANSWERS:
        _computed(asked, form, output)
        return
    if asked.columns is not None or asked.group is not None:
        raise BenchError(
            f"--columns and --group do not go with the report {asked.words.report!r}",
            why="it is a page", hint="bench runs, bench best and bench report scaling have columns",
        )  # fmt: skip
    paths = asked.words.paths
    if asked.table and Path(asked.table.file).exists() and not paths:
        paths = (Path(asked.table.file),)
    with open_for_reading(asked.db, paths, asked.lock_timeout) as warehouse:
        if asked.table:
            _table(warehouse, asked.table, form, output)
        else:
            _page(warehouse, asked, form, output)


def _computed(asked: Asked, form: Format | None, output: Path | None) -> None:
    """Write a report that is computed, not laid out by a template."""
    from ..decide.asked import Asked as Decision
    from .answers import Source
    from .deciding import report as tell

    source = Source(asked.db, asked.words.paths, asked.lock_timeout)
    decision = Decision(
        asked.model, asked.table, asked.where, asked.since, asked.document, asked.all_rows,
        asked.tokens, asked.steps, asked.columns, asked.group,
    )  # fmt: skip
    tell(asked.words.report, source, decision, form, output)


def runs(
    asked: Asked, columns: str | None, group: str | None, form: Format | None, output: Path | None
) -> None:
    """List the selected runs."""
    from ..reports import listing
    from ..reports.selection import select
    from .contact import tell_contact
    from .where import parse_columns

    paths, skipped = asked.words.paths, list[str]()
    with open_for_reading(asked.db, paths, asked.lock_timeout, skipped=skipped) as warehouse:
        select(warehouse, _selection(warehouse, asked))
        known = list(listing.columns(warehouse))
        by = parse_columns(group, known) if group else None
        chosen = (
            parse_columns(columns, [*known, *(["runs"] if not asked.all_rows else [])])
            if columns
            else None
        )
        every = asked.all_rows or (chosen is not None and by is None and "runs" not in chosen)
        names, rows = (
            listing.every_run(warehouse, chosen)
            if every
            else listing.grouped(warehouse, by, chosen)
        )
        emit(render(names, rows, choose_format(form, output)), output, name="runs.md")
        if paths:
            tell_contact(warehouse, skipped)
        say(f"{len(rows)} rows; next: bench show FILE:LINE")


def _selection(warehouse: Warehouse, asked: Asked) -> Selection:
    from ..reports.selection import Selection, select

    plain = Selection(asked.model, asked.document, None, asked.since)
    if asked.where is None:
        return plain
    from ..reports.conditions import condition

    select(warehouse, plain)
    where = condition(warehouse, asked.where)
    return Selection(asked.model, asked.document, where, asked.since)


def _page(warehouse: Warehouse, asked: Asked, form: Format | None, output: Path | None) -> None:
    from ..reports.page import Request, page
    from ..reports.write import page_text, write_folder

    folder = _is_folder(output)
    made = page(
        warehouse,
        Request(
            asked.words.report,
            _selection(warehouse, asked),
            asked.tokens,
            asked.steps,
            asked.all_rows,
            find_templates(asked.templates),
            asked.suggestions,
            _restated(warehouse, asked),
        ),
    )
    if folder and output and form in (None, Format.MD):
        for file in write_folder(warehouse, made, output):
            say(f"wrote {file}")
        return
    if folder and output:
        output.mkdir(parents=True, exist_ok=True)
    form = form or (choose_format(None, output) if output else Format.MD)
    if form in (Format.CSV, Format.TSV):
        emit(_rows(warehouse, form), output, name=f"runs.{form}")
    else:
        emit(page_text(made, form.value), output, name=f"page.{form}")


def _restated(warehouse: Warehouse, asked: Asked) -> dict[str, dict[str, Any]] | None:
    """Every run's TFLOP/s by the formula asked for."""
    if asked.flops is None:
        return None
    if asked.words.report != "model":
        raise BenchError(
            f"--flops does not go with the report {asked.words.report!r}",
            hint=f"bench report --flops {asked.flops}",
        )
    from dataclasses import asdict

    from ..audit.restate import is_hardware, restate

    return {
        one.run_id: asdict(one) | {"hardware": is_hardware(one.formula)}
        for one in restate(warehouse, asked.flops)
    }


def _is_folder(output: Path | None) -> bool:
    """Whether a page goes into a folder, made if it is not there: a name without a suffix."""
    if output is None or str(output) == "-":
        return False
    return output.is_dir() or not (output.suffix.lower() in _SUFFIXES or output.exists())


def _rows(warehouse: Warehouse, form: Format) -> str:
    """What a spreadsheet can hold of a page: its runs."""
    from ..reports.listing import columns, every_run

    return render(*every_run(warehouse, list(columns(warehouse))), form)


def _table(warehouse: Warehouse, table: TableRef, form: Format | None, output: Path | None) -> None:
    from ..reports.regenerate import regenerate

    made = regenerate(warehouse, table.file, table.number)
    for cell in made.not_rebuilt:
        warn(f"{cell}: not rebuilt from its typed value, kept as it stood")
    form = form or (choose_format(None, output) if output else Format.MD)
    if form is not Format.MD and not made.headings:
        raise BenchError(
            f"as {form} there can be one table only",
            why=f"{table.file} has several",
            hint=f"--table {table.file}:1",
        )
    text = made.markdown if form is Format.MD else render(made.headings, made.rows, form)
    emit(text, output, name=f"table.{form}")


__all__ = ["Asked", "Words", "report", "runs", "split"]
