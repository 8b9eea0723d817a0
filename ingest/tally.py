"""What an ingest did, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .collect import Collected


@dataclass(frozen=True, slots=True)
class Warning:
    """A remark on one line of a file; line None: the file as a whole."""

    uri: str
    line: int | None
    code: str
    message: str


@dataclass(slots=True)
class FormatCount:
    """What the files of one kind and format gave."""

    files: int = 0
    runs: int = 0
    rows: int = 0
    lines: int = 0
    lines_unread: int = 0
    lines_measuring: int = 0


@dataclass(slots=True)
class Summary:
    """What an ingest did; `formats` is keyed by (kind, format)."""

    formats: dict[tuple[str, str], FormatCount] = field(default_factory=dict)
    known: int = 0
    changed: int = 0  # of the new ones, those that were there with other bytes
    grown: int = 0  # of the new ones, those of which only what was added was read
    copies: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[Warning] = field(default_factory=list)
    tables_other: int = 0
    sizes: Counter[str] = field(default_factory=Counter)
    uris: list[str] = field(default_factory=list)  # of the sources, known ones too

    def fail(self, name: str, error: OSError) -> None:
        """Note that a file could not be read."""
        self.failed.append((name, error.strerror or str(error)))

    @property
    def new(self) -> int:
        """Files whose rows were read."""
        return sum(count.files for count in self.formats.values())


def add_file(summary: Summary, uri: str, found: Collected) -> None:
    """Count what one file gave."""
    source = found.source or {}
    key = (str(source["kind"]), str(source["format"] or "?"))
    count = summary.formats.setdefault(key, FormatCount())
    count.files += 1
    count.runs += found.counts["runs"]
    count.rows += sum(
        found.counts[name] for name in ("cells", "iterations", "measurements", "jobs")
    )
    count.lines += int(str(source["lines"]))
    count.lines_unread += int(str(source["lines_unread"]))
    count.lines_measuring += int(str(source.get("lines_measuring") or 0))
    summary.warnings += [
        Warning(uri, _int(row.get("line")), str(row["code"]), str(row["message"]))
        for row in found.remarks
    ]
    summary.sizes.update(found.models)


def _int(value: object) -> int | None:
    return value if isinstance(value, int) else None
