"""`bench report --update` and `--check`: print what was done, return the exit code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..schema.errors import FINE, FOUND, BenchError
from ..terminal.messages import info, warn
from ..terminal.source import Source
from ..terminal.tables import emit
from ..vocabulary.format import counted
from ..vocabulary.printable import typed
from . import pages as p
from .github import read_job
from .gitlab import read_job as read_merge
from .region_page import NOT_RENDERED
from .sources import Sources


def update_or_check(
    arguments: Sequence[str] | None,
    paths: Sequence[Path] | None,
    source: Source,
    updating: bool,
    checking: bool,
    more: bool,
) -> int:
    """Run either on the given files; raises BenchError for options that do not apply."""
    if updating == checking:
        raise BenchError(
            "--update and --check are mutually exclusive"
            if updating
            else "--from requires --update or --check",
            hint="bench report --check README.md, or --update",
        )
    if more:
        raise BenchError(
            "region options belong in the region's marker",
            why="--update and --check take no filter, format or output options",
            hint="""<!-- bench:begin report=days model=1.3B where="tp = 4" -->""",
        )
    named = [Path(name) for name in arguments or ()]
    # What a fork brings is not rendered, by whatever command its job calls.
    own = not (read_job(os.environ).is_of_fork or read_merge(os.environ).is_of_fork)
    with Sources(tuple(paths or ()), source.db, source.lock_timeout, own) as sources:
        return (update if updating else check)(named, sources)


def update(named: Sequence[Path], sources: Sources) -> int:
    """Rewrite the stale regions; nothing is written if any marker is wrong."""
    paths = p.find_pages(named)
    pages = p.examine(paths, sources)
    p.refuse_errors(pages)
    p.require_regions(pages, named)
    done = [line for page in pages for line in _done(page)]
    p.write(pages, sources)
    for line in done or [f"{_count(pages)} up to date"]:
        info(line)
    _tell_unchecked(pages)
    return FINE


def _done(page: p.Page) -> Iterator[str]:
    for region in page.stale:
        if page.document.edited(region):
            warn(f"{page.name}:{region.begin}: manual edits are overwritten")
        yield f"{page.name}:{region.begin}: {region.title} updated"
    for region in page.unsealed:
        yield f"{page.name}:{region.end}: digest written"
    yield from (f"wrote {chart.file}" for chart in page.stale_charts)


def check(named: Sequence[Path], sources: Sources) -> int:
    """List the stale regions, with a diff on stdout; changes nothing."""
    paths = p.find_pages(named)
    pages = p.examine(paths, sources)
    p.refuse_errors(pages)
    p.require_regions(pages, named)
    _tell_unchecked(pages)
    stale = [page for page in pages if page.is_stale]
    emit("".join(p.difference(page) for page in stale))
    for page in stale:
        for region in page.stale:
            by_hand = " (edited by hand)" if page.document.edited(region) else ""
            info(f"{page.name}:{region.begin}: {region.title} is stale{by_hand}")
        for chart in page.stale_charts:
            info(f"{chart.file}: stale")
    if stale:
        info(f"try: bench report --update {' '.join(typed(page.name) for page in stale)}")
        return FOUND
    info(f"{_count(pages)} up to date")
    return FINE


def _tell_unchecked(pages: Sequence[p.Page]) -> None:
    if unchecked := sum(len(page.unchecked) for page in pages):
        info(f"{counted(unchecked, 'region')} not checked: {NOT_RENDERED}")


def _count(pages: Sequence[p.Page]) -> str:
    if not pages:
        return "no region in any tracked markdown file; 0 regions"
    regions = sum(len(page.document.regions) for page in pages)
    return f"{counted(regions, 'region')} in {counted(len(pages), 'file')}"
