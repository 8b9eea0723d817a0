"""The review of a pull or merge request on any host: pages checked, rows compared."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..project.git import git
from ..project.repository import find_home
from ..project.settings import JobSettings, read_settings
from ..reports import row_diff, row_diff_table
from ..schema.errors import FINE, FOUND, NOTHING_TO_COMPARE, BenchError
from ..terminal.messages import info
from ..vocabulary.printable import typed
from . import comment as text_of
from .diffing import against
from .pages import Page, examine, find_pages
from .region_page import NOT_RENDERED, paths_of
from .sources import Sources
from .sticky import Host, upsert


@dataclass(frozen=True, slots=True)
class Annotation:
    """An annotation of one line of a file."""

    level: Literal["error", "notice"]
    file: str
    line: int
    title: str
    message: str


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The pages, the rows changed since the base (or why they are unknown), and the comment."""

    pages: tuple[Page, ...]
    diff: row_diff.Diff | str
    body: str
    error: BenchError | None = (
        None  # why rows could not be compared; raised after everything else is printed
    )

    @property
    def is_news(self) -> bool:
        """Whether it reports any stale page, error or changed row."""
        is_wrong = any(page.is_stale or page.errors for page in self.pages)
        return is_wrong or (not isinstance(self.diff, str) and bool(self.diff.changes))

    def code(self, job: JobSettings) -> int:
        """The exit code by the job's `fail_on`; raises BenchError without a merge base."""
        if self.error:
            raise self.error
        is_stale = "stale" in job.fail_on and any(page.is_stale for page in self.pages)
        if is_stale or any(page.errors for page in self.pages):
            return FOUND
        if isinstance(self.diff, str) or "changed" not in job.fail_on:
            return FINE
        return FOUND if self.diff.counts["changed"] + self.diff.counts["removed"] else FINE


def review(
    named: Sequence[Path],
    base: str,
    job: JobSettings,
    timeout: float,
    history: str,
    own_templates: bool = True,
) -> Reviewed:
    """Check the given pages, or those of bench.toml, and diff against the merge base with `base`.

    Without a merge base the result holds the error, with `history` as its hint. Without
    `own_templates` regions that need one of the repository are not checked.
    """
    with Sources(lock_timeout=timeout, own_templates=own_templates) as sources:
        pages = examine(find_pages(named), sources)
        commit, missing = "", None
        diff: row_diff.Diff | str
        try:
            diff, commit = _diff(base, history, sources, pages)
        except BenchError as error:
            diff, missing = error.what, error
    if isinstance(diff, str):
        info(f"rows not compared: {diff}")
    body = text_of.body(pages, diff, f"{base} ({commit[:12]})", job.comment_id)
    return Reviewed(tuple(pages), diff, body, missing)


def annotations_of(reviewed: Reviewed) -> Iterator[Annotation]:
    """Annotations of lines: wrong or stale regions, then changed rows.

    Paths are relative to the top of the checkout, as hosts require.
    """
    home, cwd = find_home(Path.cwd()), Path.cwd()
    for page in reviewed.pages:
        file = _from_top(cwd / page.path)
        update = f"try: bench report --update {typed(page.name)}"
        for error in page.errors:
            line = re.search(r":(\d+)", error.where)
            message = f"{error.what}. {error.why} {error.hint}"
            yield Annotation("error", file, int(line[1]) if line else 1, "broken region", message)
        for region in page.unchecked:
            yield Annotation(
                "notice", file, region.begin, f"{region.title} not checked", NOT_RENDERED
            )
        for region in page.stale:
            how = "was edited by hand" if page.document.edited(region) else "is stale"
            yield Annotation("error", file, region.begin, f"{region.title} {how}", update)
        for chart in page.stale_charts:
            yield Annotation("error", file, chart.line, "stale chart", f"{chart.file}; {update}")
    if isinstance(reviewed.diff, str):
        return
    heads = row_diff_table.columns(reviewed.diff)[2:]
    for change, cells in zip(
        reviewed.diff.changes, row_diff_table.cells(reviewed.diff), strict=True
    ):
        if change.kind != "removed":
            message = "; ".join(f"{h}: {c}" for h, c in zip(heads, cells[2:], strict=True) if c)
            file = _from_top(home / change.row["file"])
            yield Annotation("notice", file, change.row["file_line"], f"row {change.kind}", message)


def update_comment(
    host: Host, job: JobSettings, body: str, number: int, *, is_news: bool, rest: str
) -> None:
    """Update the comment, truncated to the host's limit; `rest` says where the full text is.

    Raises ApiError.
    """
    text = text_of.cut(body, text_of.COMMENT_LIMIT, rest)
    create = is_news or job.comment == "always"
    done, url = upsert(host, number, text_of.marker(job.comment_id), text, create=create)
    info(f"comment: {done} {url}".rstrip())


def _from_top(file: Path) -> str:
    """A file's path relative to its checkout; unchanged outside of one."""
    path = Path(os.path.abspath(file))
    top = next((folder for folder in path.parents if (folder / ".git").exists()), Path.cwd())
    return Path(os.path.relpath(path, top)).as_posix()


def _diff(
    base: str, history: str, sources: Sources, pages: Sequence[Page]
) -> tuple[row_diff.Diff | str, str]:
    """The rows changed since the branch left its base, or why they are unknown.

    Where bench.toml sets no sources, those of the regions are compared.
    """
    if not base:
        return "no base revision", ""
    paths: list[Path] = []
    if not read_settings().sources:
        paths = sorted(
            {
                path
                for page in pages
                for region in page.bodies
                for path in paths_of(region, page.path)
            }
        )
        if not paths:
            return "neither bench.toml (sources) nor a region (from=) names files to compare", ""
    try:
        failed = f"no merge base with {base!r}"
        commit = git("merge-base", "--", base, "HEAD", failed=failed).strip()
    except BenchError as error:
        error.hint = history
        raise
    try:
        return against(commit, paths, sources=sources), commit
    except BenchError as error:
        if error.exit_code != NOTHING_TO_COMPARE:
            raise
        return error.why, commit
