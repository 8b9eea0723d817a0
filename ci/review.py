"""What a pull or merge request is told, whatever the host: pages checked, rows compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..reports import rowdiff, rowtable
from ..schema.errors import FINE, FOUND, BenchError
from ..terminal.messages import say
from ..terminal.settings import Review as Settings
from ..terminal.settings import read_settings
from . import comment as text_of
from .diffing import against, git
from .pages import Page, examine, find_pages
from .sources import Sources
from .sticky import Host, upsert


@dataclass(frozen=True, slots=True)
class Mark:
    """A word on one line of a file."""

    level: Literal["error", "notice"]
    file: str
    line: int
    title: str
    message: str


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The pages, the rows that changed since the base, and the text that tells of both."""

    pages: tuple[Page, ...]
    diff: rowdiff.Diff | None
    body: str

    @property
    def is_news(self) -> bool:
        """Whether anybody has to hear of it."""
        is_wrong = any(page.is_stale or page.errors for page in self.pages)
        return is_wrong or bool(self.diff and self.diff.changes)

    def code(self, settings: Settings) -> int:
        """The exit code, by what shall make a job fail."""
        is_stale = "stale" in settings.fail_on and any(page.is_stale for page in self.pages)
        if is_stale or any(page.errors for page in self.pages):
            return FOUND
        counts = self.diff.counts if self.diff else {"changed": 0, "removed": 0}
        has_changed = "changed" in settings.fail_on and counts["changed"] + counts["removed"]
        return FOUND if has_changed else FINE


def review(
    named: Sequence[Path], base: str, settings: Settings, timeout: float, history: str
) -> Reviewed:
    """Check the pages named, or the usual ones, and compare with where HEAD left `base`.

    Raises BenchError without a merge base; `history` is what to try then.
    """
    with Sources(lock_timeout=timeout) as sources:
        pages = examine(find_pages(named), sources)
    diff, commit = _diff(base, history)
    body = text_of.body(pages, diff, f"{base} ({commit[:12]})", settings.comment_id)
    return Reviewed(tuple(pages), diff, body)


def marks(found: Reviewed) -> Iterator[Mark]:
    """What is to be said beside lines: regions that are wrong or stale, then rows."""
    for page in found.pages:
        for error in page.errors:
            line = re.search(r":(\d+)", error.where)
            told = f"{error.what}. {error.why} {error.hint}"
            yield Mark("error", page.name, int(line[1]) if line else 1, "broken region", told)
        for region in page.stale:
            how = "was changed by hand" if page.document.edited(region) else "is stale"
            yield Mark("error", page.name, region.begin, f"{region.title} {how}",
                       f"try: bench report --update {page.name}")  # fmt: skip
        for chart in page.stale_charts:
            yield Mark("error", page.name, 1, "stale chart", str(chart.file))
    yield from _rows(found.diff) if found.diff else ()


def keep_comment(
    host: Host, settings: Settings, body: str, number: int, *, is_news: bool, rest: str
) -> None:
    """Bring the one comment up to date, cut to its size; `rest` says where all is.

    Raises ApiError.
    """
    text = text_of.cut(body, text_of.COMMENT_LIMIT, rest)
    create = is_news or settings.comment == "always"
    done, url = upsert(host, number, text_of.marker(settings.comment_id), text, create=create)
    say(f"comment: {done} {url}".rstrip())


def _rows(diff: rowdiff.Diff) -> Iterator[Mark]:
    heads = rowtable.columns(diff)[2:]
    for change, cells in zip(diff.changes, rowtable.cells(diff), strict=True):
        if change.kind != "removed":
            told = "; ".join(f"{h}: {c}" for h, c in zip(heads, cells[2:], strict=True) if c)
            row = change.row
            yield Mark("notice", row["file"], row["file_line"], f"row {change.kind}", told)


def _diff(base: str, history: str) -> tuple[rowdiff.Diff | None, str]:
    """What changed since the branch left its base."""
    if not base or not read_settings().sources:
        say("no base, or no sources in bench.toml: rows are not compared")
        return None, ""
    try:
        failed = f"no merge base with {base!r}"
        commit = git("merge-base", "--", base, "HEAD", failed=failed).strip()
    except BenchError as error:
        error.hint = history
        raise
    return against(commit, ()), commit
