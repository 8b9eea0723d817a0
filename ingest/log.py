"""One log -> its runs, iterations, facts and events, line by line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..schema.rows import Rows, content_id
from .dialect import Dialect, dialects
from .header import Header
from .lines import Line
from .record import Record
from .run import Run

# Lines of many processes may be glued together; a line with more records than this is garbage.
MOST_RECORDS = 64
RULE = frozenset("-=*_#~+ \t")


@dataclass(slots=True)
class LogRead:
    """What a log gave: rows not yet taken, lines by format, and how many lines were read."""

    rows: Rows
    formats: Counter[str]
    lines: int = 0
    lines_read: int = 0
    lines_known: int = 0
    lines_unread: int = 0
    encoding_errors: int = 0


class LogReader:
    """Reads lines as they come; `take_rows` hands over what is finished, so that memory stays flat.

    A run and its topology come when the run is over, its iterations, facts and events at once.
    """

    def __init__(self, source_id: str, *, first_segment: int = 1) -> None:
        self._source_id = source_id
        self._first_segment = first_segment
        self._rows = Rows()
        self._read = LogRead(self._rows, Counter())
        self._dialects = dialects()
        self._run: Run | None = None
        self._block: str | None = None
        self._starts: Counter[str] = Counter()
        self._number = 0
        self._read_by: set[str] = set()
        self._known = True

    def feed(self, line: Line) -> None:
        """One line, or one piece of it between carriage returns."""
        if line.number != self._number:
            self._count_line()
            self._number = line.number
        self._read.encoding_errors += line.errors
        if line.cut:
            self._rows.warn("cut_line", "the line is longer than a log line can be", line.number)
        if self._run is not None:
            self._run.last_line = line.number
        read = self._read_text(line.text)
        self._known = self._known and (read or RULE.issuperset(line.text))

    def take_rows(self) -> Rows:
        """The rows that are finished, once; later calls and `finish` give the others."""
        taken = Rows(self._rows.by_table)
        self._rows.by_table = Rows().by_table
        return taken

    def finish(self) -> LogRead:
        """The end of the file: the last run is stored."""
        self._count_line()
        self._number = 0
        if self._run is not None:
            self._run.finish()
            self._run = None
        return self._read

    def _count_line(self) -> None:
        if self._number == 0:
            return
        self._read.lines += 1
        if self._read_by:
            self._read.lines_read += 1
            self._read.formats.update(self._read_by)
        elif self._known:
            self._read.lines_known += 1
        else:
            self._read.lines_unread += 1
        self._read_by, self._known = set(), True

    def _read_text(self, text: str) -> bool:
        records = 0
        waiting = [text]
        while waiting and records < MOST_RECORDS:
            piece = waiting.pop()
            found = self._first_record(piece)
            if found is None:
                continue
            dialect, record = found
            records += 1
            if self._take(dialect, record):
                self._read_by.add(dialect.name)
                self._check_tail(dialect, record)
            # Another process, or a print without line end: text in front and behind.
            waiting += [rest for rest in (record.after, record.before) if rest.strip()]
        return bool(self._read_by)

    def _first_record(self, text: str) -> tuple[Dialect, Record] | None:
        for dialect in self._dialects:
            if dialect.within is None or dialect.within == self._block:
                record = dialect.read(text)
                if record is not None and record.raw and _usable(record):
                    return dialect, record
        return None

    def _check_tail(self, dialect: Dialect, record: Record) -> None:
        if dialect.reader.cut_off(record.after):
            self._rows.warn("truncated_line", "the line ends within a value", self._number)

    def _take(self, dialect: Dialect, record: Record) -> bool:
        """Store a record; False where nothing has begun that it could belong to."""
        match dialect.reads:
            case "iteration":
                self._block = None
                run = self._current(record)
                run.framework = run.framework or dialect.framework
                run.add_iteration(record, self._number)
                return True
            case "header" | "parameters" | "argument" | "block":
                return self._take_header(dialect, record)
            case _:
                return self._take_event(dialect, record)

    def _take_header(self, dialect: Dialect, record: Record) -> bool:
        if dialect.starts_run and self._run is not None and self._run.over_at(dialect.name):
            self._run.last_line = self._number - 1
            self._run.finish(self._number)
            self._run = None
        if dialect.reads == "block" and dialect.closes:
            self._block = None
            return self._run is not None
        if self._run is None and not dialect.starts_run:
            return False
        run = self._current(record)
        run.started_by.add(dialect.name)
        if dialect.reads == "block":
            self._block = dialect.opens
        elif dialect.reads == "header":
            run.header.state(record, self._number)
        elif dialect.reads == "parameters":
            run.header.on_rank(record, self._number)
        else:
            run.header.argument(record, self._number)
        return True

    def _take_event(self, dialect: Dialect, record: Record) -> bool:
        run = self._run
        if run is None:
            return False
        if dialect.reads == "failure":
            run.fail(record, self._number, dialect.refines)
        elif dialect.reads == "cause":
            run.explain(record)
        elif dialect.reads == "end":
            run.end(record, self._number)
        elif dialect.reads == "evaluation":
            run.evaluate(record, self._number)
        else:
            run.add_event(record, self._number, str(record.fields["kind"]))
        return True

    def _current(self, record: Record) -> Run:
        """The run that is being read; the first header or iteration line starts one."""
        if self._run is None:
            text = record.raw.strip()
            self._starts[text] += 1
            run_id = content_id(self._source_id, "log", text, self._starts[text])
            number = self._number
            header = Header(run_id, self._rows)
            self._run = Run(run_id, self._source_id, self._rows, number, number, header)
            self._run.segment = self._first_segment
            self._first_segment = 1
        return self._run


def _usable(record: Record) -> bool:
    return record.reads != "iteration" or "iteration" in record.fields
