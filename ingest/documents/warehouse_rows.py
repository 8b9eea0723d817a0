"""A table of a document -> rows of tables, cells, runs, topology, measurements and facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace

from ...schema.rows import Rows, content_id
from ...vocabulary.cell import Cell
from ...vocabulary.device_names import names_machines
from ...vocabulary.headings import Column, unread_results
from ...vocabulary.secrets import redact
from .agreement import RefusedFact
from .ambiguous_columns import decided
from .batch_scope import with_open_batches
from .column_cells import add_cells, read_rows
from .decimal_commas import with_decimal_commas
from .environment_columns import flags_in
from .fact import Fact
from .flops_scope import flops_settled
from .grid import Table, TableRow
from .nearby_facts import TableContext
from .projected import is_projected
from .rate_scope import OPEN_SCOPE, settled
from .results import Result, devices_of_rates, habits_of, is_measured, results
from .row import (
    MODEL,
    TOPOLOGY,
    PublishedRow,
    RowContext,
    cells_by_name,
    numbers_of,
)
from .row_kinds import Adapters, are_rounded, no_run, sums_up, words_of
from .row_words import numbers_in_words, splits_of_some
from .secret_columns import without_secrets
from .sections import FoundTable
from .status import Footnotes, flags_of, rough, status_of
from .table_columns import columns_in
from .techniques import techniques_of_rows
from .unread_columns import fields_of_unread, fields_possible
from .wide_tables import UNNAMED

_RESULT = tuple(one.name for one in fields(Result))


@dataclass(slots=True)
class RowReader:
    """Turns the tables of one source into rows."""

    source_id: str
    rows: Rows
    footnotes: Footnotes = field(default_factory=Footnotes)
    everywhere: Sequence[Fact] = ()
    accumulations: Set[int] = frozenset()  # micro-batches per step, in the text of the document
    batches: dict[str, Column | None] = field(default_factory=dict)  # by bare heading
    _seen: Counter[str] = field(default_factory=Counter)
    _adapters: Adapters = field(init=False)
    _warned: set[Fact] = field(default_factory=set)

    def add(self, found: FoundTable, form: str) -> None:
        """Add one table and, when it is a benchmark table, its cells and runs."""
        found = replace(found, table=without_secrets(found.table))
        columns = self._known(found)
        unread = self._warn_of_unread(found)
        table_id = self._id("table", found.table.header.cells)
        self._add_table(found, table_id, columns, form)
        if found.number is None:
            return
        self._warn_of_shape(found.table)
        self._adapters = Adapters(found.table, [one.text for one in found.path])
        rows = [row for row in found.table.rows if not row.is_filler]
        read = read_rows([row.cells for row in rows], columns)
        add_cells(self.rows, table_id, rows, read)
        readings = self._readings(found, columns, rows, [[one.cell for one in of] for of in read])
        measured = self._settled(found.table.header, readings)
        sums = sums_up([row.cells for row in rows])
        open_ended = bool(unread) or UNNAMED in found.table.header.cells
        for number, (row, (reading, _), one) in enumerate(
            zip(rows, readings, measured, strict=True), 1
        ):
            why = no_run(row.cells, found.table.header.cells)
            if number - 1 in sums:
                why = "a row of means sums up others"
            if why:
                self.rows.warn("not_training", why, row.line)
                continue
            self._add_run(table_id, number, row, reading, columns, found, one, open_ended)

    def _readings(
        self,
        found_table: FoundTable,
        columns: Sequence[Column | None],
        rows: Sequence[TableRow],
        cells_of: Sequence[Sequence[Cell]],
    ) -> list[tuple[PublishedRow, list[Result]]]:
        """Each row with the facts around it, and the results that it prints."""
        habits = habits_of(cells_of, columns)
        results_of = [list(results(cells, columns, habits)) for cells in cells_of]
        headings = found_table.table.header.cells
        said = [numbers_in_words(words_of(headings, cells, columns)) for cells in cells_of]
        own = [
            words | numbers_of(cells_by_name(cells, columns)) | devices_of_rates(printed)
            for words, cells, printed in zip(said, cells_of, results_of, strict=True)
        ]
        named = frozenset(column.name for column in columns if column)
        words = [row.cells for row in rows]
        named |= fields_of_unread(headings, columns, words) | techniques_of_rows(words)
        explained, splits = found_table.explained, splits_of_some(said)
        possible = fields_possible(headings, columns, words, explained, splits)
        context = TableContext(found_table, self.everywhere, named, own, possible)
        read = []
        for row, cells, numbers in zip(rows, cells_of, own, strict=True):
            self._warn_of_invalid(row, cells)
            of_row = self._context_of(row, numbers, context)
            read.append(self._reading(row, cells, columns, found_table, of_row))
        return list(zip(with_open_batches(read), results_of, strict=True))

    def _settled(
        self, header: TableRow, readings: Sequence[tuple[PublishedRow, list[Result]]]
    ) -> Sequence[Sequence[Result]]:
        """The results of each row, with the scope of rates as the rows show it."""
        measured, open_scope = settled(header.cells, readings)
        measured = flops_settled(header.cells, [reading for reading, _ in readings], measured)
        if open_scope:
            self.rows.warn("scope_not_stated", OPEN_SCOPE, header.line)
        return measured

    def _warn_of_unread(self, found_table: FoundTable) -> list[str]:
        """The headings of a benchmark table that look like results and are not known."""
        header = found_table.table.header
        unread = unread_results(header.cells) if found_table.number is not None else []
        for heading in unread:
            message = f"the column {heading!r} is stored, but is no known measurement"
            self.rows.warn("unread_column", message, header.line)
        return unread

    def _known(self, found_table: FoundTable) -> list[Column | None]:
        """The columns; an ambiguous heading is resolved by the rows, or its column is not read."""
        counts = {
            fact.value for fact in found_table.facts if fact.field == "devices" and fact.value
        }
        stated = int(counts.pop()) if len(counts) == 1 else None
        table = found_table.table
        columns, of_commas = with_decimal_commas(table, columns_in(found_table))
        columns, doubts = decided(table, columns, self.accumulations, self.batches, stated)
        for doubt in [*of_commas, *doubts]:
            self.rows.warn(doubt.code, doubt.message, table.header.line)
        return columns

    def _id(self, kind: str, cells: Sequence[str]) -> str:
        """An id that is stable under changes elsewhere: by text, and number among equal texts."""
        text = "|".join(cells)
        self._seen[text] += 1
        return content_id(self.source_id, kind, text, self._seen[text])

    def _add_table(
        self, found_table: FoundTable, table_id: str, columns: Sequence[Column | None], form: str
    ) -> None:
        table = found_table.table
        self.rows.add(
            "tables",
            source_id=self.source_id,
            table_id=table_id,
            number=found_table.number,
            form=form,
            header_line=table.header.line,
            separator_line=table.separator_line,
            last_line=table.last_line,
            headings=list(table.header.cells),
            columns=[column.name if column else "" for column in columns],
            alignment=list(table.alignment),
            heading_path=[heading.text for heading in found_table.path],
            heading_lines=[heading.line for heading in found_table.path],
            filler_lines=[row.line for row in table.rows if row.is_filler],
        )

    def _warn_of_shape(self, table: Table) -> None:
        width = len(table.header.cells)
        if table.separator_line and len(table.alignment) != width:
            cells = len(table.alignment) - table.added
            message = f"the separator row has {cells} cells, the header {width - table.added}"
            self.rows.warn("short_separator", message, table.separator_line)
        for row in table.rows:
            if not row.is_filler and len(row.cells) != width:
                message = f"{len(row.cells)} cells under {width - table.added} headings"
                self.rows.warn("ragged_row", message, row.line)

    def _warn_of_invalid(self, row: TableRow, cells: Sequence[Cell]) -> None:
        for cell in cells:
            if cell.invalid:
                self.rows.warn("type_misfit", f"{cell.raw!r}: {cell.invalid}", row.line)

    def _reading(
        self,
        row: TableRow,
        cells: Sequence[Cell],
        columns: Sequence[Column | None],
        found_table: FoundTable,
        context: RowContext,
    ) -> PublishedRow:
        by_name = cells_by_name(cells, columns)
        headings = found_table.table.header.cells
        flags, words = tuple(flags_in(headings, columns, cells)), words_of(headings, cells, columns)
        return PublishedRow(row.line, cells, by_name, context, flags, words)

    def _context_of(
        self, row: TableRow, numbers: Mapping[str, float], context: TableContext
    ) -> RowContext:
        of_row, refused = context.of(numbers, row.cells)
        for one in refused:
            self._warn_of_refused(one, row.line)
        return of_row

    def _add_run(
        self,
        table_id: str,
        number: int,
        row: TableRow,
        read: PublishedRow,
        columns: Sequence[Column | None],
        found_table: FoundTable,
        measured: Sequence[Result],
        unread: bool,
    ) -> None:
        headed = zip(found_table.table.header.cells, columns, read.cells, strict=False)
        more = any(is_measured(*one) for one in headed)
        status = status_of(
            read.by_name, columns, measured, self.footnotes, unread, more, read.words
        )
        flags = flags_of(read.cells, columns, self.footnotes)
        if (counted := read.context.facts.get("nodes")) and names_machines(counted.raw):
            flags = sorted([*flags, "machines"])
        if self._adapters.trained(row.cells):
            flags = sorted([*flags, "adapters"])
        if is_projected(found_table.path, found_table.lead, are_rounded(read.cells, columns)):
            status = replace(status, kind="planned")
        if note := found_table.withdrawn:
            flags = sorted([*flags, "withdrawn"])
            status = replace(status, reason=status.reason or note.text.strip(), line=note.line)
        run_id = self._id("row", row.cells)
        self.rows.add(
            "runs",
            source_id=self.source_id,
            run_id=run_id,
            origin="row",
            table_id=table_id,
            row_number=number,
            line=row.line,
            last_line=row.last_line,
            model=read.model(),
            params_b=read.params_b(),
            params_stated=read.params_stated(),
            vocab_label=read.word("vocab_label"),
            **{name: read.integer(name) for name in MODEL},
            framework=read.framework(),
            device=read.device(),
            dtype=read.dtype(),
            recipe=read.recipe(),
            active_b=read.active_b(),
            recompute=read.recompute(),
            async_launch=read.flag("async_launch"),
            status=status.status,
            status_reason=status.reason,
            status_line=status.line,
            kind=status.kind,
            flags=flags,
            date=read.date(),
            job_ids=read.job_ids(),
            notes=read.notes(),
        )
        topology = {name: read.integer(name) for name in TOPOLOGY}
        topology |= {"devices": read.devices(), "nodes": read.nodes()}
        wider = {"procs_per_node": read.procs_per_node(), "device_batch": read.device_batch()}
        self.rows.add("topology", run_id=run_id, **topology, **wider)
        self._add_details(run_id, read, measured, found_table.facts)

    def _warn_of_refused(self, refused: RefusedFact, line: int) -> None:
        fact = refused.fact
        if fact not in self._warned:
            self._warned.add(fact)
            message = (
                f"{fact.field} {fact.value} of line {fact.line} is not applied to rows like this:"
                f" it contradicts {refused.against}"
            )
            self.rows.warn("context_disagrees", message, line)

    def _add_details(
        self, run_id: str, read: PublishedRow, measured: Sequence[Result], facts: Sequence[Fact]
    ) -> None:
        for result in measured:
            flags = sorted(self.footnotes.flags(result.marks) | rough(result.raw))
            values = {name: getattr(result, name) for name in _RESULT} | {
                "marks": list(result.marks)
            }
            self.rows.add("measurements", run_id=run_id, line=read.line, flags=flags, **values)
        for name, (value, kind, line) in read.env(facts).items():
            safe = None if value is None else redact(name, value)
            self.rows.add("env_flags", run_id=run_id, name=name, value=safe, kind=kind, line=line)
        add_facts(self.rows, run_id, read.context.facts)


def add_facts(rows: Rows, run_id: str, facts: Mapping[str, Fact]) -> None:
    """Add the facts that apply to a run, each with the line that states it."""
    for name, fact in facts.items():
        rows.add(
            "facts",
            run_id=run_id,
            field=name,
            value=fact.value,
            raw=fact.raw,
            line=fact.line,
            scope=fact.scope,
            how="stated",
        )
