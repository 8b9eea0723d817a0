"""The outcomes of files, one by one and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ...schema.ledger import Stamp
    from ...schema.store import Load
    from .inputs import Input
    from .parsed import Parsed

Progress = Callable[[str], None]
Status = Literal["known", "copy", "read", "grown", "moved", "skipped", "overtaken", "failed"]


@dataclass(frozen=True, slots=True)
class Warning:
    """A remark on one line of a file; line None: the file as a whole."""

    uri: str
    line: int | None
    code: str
    message: str


@dataclass(slots=True)
class Outcome:
    """The outcome of one file: its load to store, and its entry in the summary.

    `moved` is a name that now has the load of another file, or none; it is not reported.
    `overtaken` is a file that changed while it was read. `stamp` is the stat() of the file before
    the bytes with this `sha256` were read.
    """

    item: Input
    status: Status
    load: Load | None = None
    parsed: Parsed | None = None
    sha256: str | None = None
    stamp: Stamp | None = None
    warning: Warning | None = None
    reason: str = ""
    same_bytes: bool = False  # as stored: it was read again by another version


@dataclass(slots=True)
class FormatCount:
    """Counts of the files of one kind and format."""

    files: int = 0
    runs: int = 0
    rows: int = 0
    lines: int = 0
    lines_unread: int = 0
    lines_measuring: int = 0


@dataclass(slots=True)
class Summary:
    """The counts and messages of an ingest; `formats` is keyed by (kind, format)."""

    formats: dict[tuple[str, str], FormatCount] = field(default_factory=dict)
    known: int = 0
    changed: int = 0  # of the new ones, those stored before with other bytes
    reread: int = 0  # of the new ones, those that another version of bench had read
    grown: int = 0  # of the new ones, those of which only the added bytes were read
    copies: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[Warning] = field(default_factory=list)
    tables_other: int = 0
    sizes: Counter[str] = field(default_factory=Counter)
    uris: list[str] = field(default_factory=list)  # of the sources, known ones too

    @property
    def new(self) -> int:
        """Files whose rows were read."""
        return sum(count.files for count in self.formats.values())

    def add(self, outcome: Outcome) -> None:
        """Counts the outcome of one file."""
        uri = outcome.item.uri
        match outcome.status:
            case "known":
                self.known += 1
            case "copy":
                self.copies += 1
            case "skipped":
                self.skipped.append(uri)
            case "failed" | "overtaken":
                self.failed.append((uri, outcome.reason))
        if outcome.warning:
            self.warnings.append(outcome.warning)
        if outcome.status in ("known", "copy", "read", "grown"):
            self.uris.append(uri)
        if outcome.parsed and outcome.load:
            self.grown += outcome.status == "grown"
            again = outcome.status == "read" and outcome.load.plan.generation > 1
            self.reread += again and outcome.same_bytes
            self.changed += again and not outcome.same_bytes
            self._add_rows(uri, outcome.parsed)

    def _add_rows(self, uri: str, parsed: Parsed) -> None:
        source = parsed.source or {}  # each file that was recognised has this row
        key = (str(source["kind"]), str(source["format"] or "?"))
        count = self.formats.setdefault(key, FormatCount())
        count.files += 1
        count.runs += parsed.counts["runs"]
        count.rows += sum(
            parsed.counts[name] for name in ("cells", "iterations", "measurements", "jobs")
        )
        count.lines += int(str(source["lines"]))
        count.lines_unread += int(str(source["lines_unread"]))
        count.lines_measuring += int(str(source.get("lines_measuring") or 0))
        self.warnings += [
            Warning(uri, _int(row.get("line")), str(row["code"]), str(row["message"]))
            for row in parsed.remarks
        ]
        self.sizes.update(parsed.models)
        self.tables_other += parsed.tables_other


def _int(value: object) -> int | None:
    return value if isinstance(value, int) else None
