"""Markdown files with generated regions: find, check and rewrite the stale ones."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..ingest.files.folders import uri_of
from ..project.git import git, top_of_checkout
from ..project.repository import inside
from ..project.settings import read_settings
from ..reports.regions import Document, Region, read_document
from ..schema.errors import NOTHING_RECOGNISED, BenchError
from ..vocabulary.atomic import atomic_write
from ..vocabulary.regular_files import read_regular
from .region_page import Chart, NotRendered, make
from .sources import Sources

_LARGEST = 64 << 20  # bytes of a page
ROUNDS = 4  # a file that cites its own lines settles in two
_BLANKS, _RULE = re.compile(r" {2,}"), re.compile(r"-{4,}")


@dataclass(frozen=True, slots=True)
class Page:
    """One file: its text, its regions, and their errors."""

    path: Path
    document: Document
    text: str
    bodies: dict[Region, str] = field(default_factory=dict)
    charts: tuple[Chart, ...] = ()
    errors: tuple[BenchError, ...] = ()
    unchecked: tuple[Region, ...] = ()

    @property
    def name(self) -> str:
        return self.document.name

    @property
    def expected(self) -> str:
        """The text with all regions up to date."""
        return self.document.replaced(self.bodies)

    @property
    def stale(self) -> list[Region]:
        """The regions whose content is out of date."""
        return [r for r, body in self.bodies.items() if self.document.is_stale(r, body)]

    @property
    def unsealed(self) -> list[Region]:
        """The regions that are up to date but have no digest yet."""
        stale = set(self.stale)
        return [r for r in self.bodies if r.digest is None and r not in stale]

    @property
    def stale_charts(self) -> list[Chart]:
        return [chart for chart in self.charts if not chart.is_current]

    @property
    def is_stale(self) -> bool:
        return bool(self.stale or self.stale_charts)


def find_pages(named: Sequence[Path]) -> list[Path]:
    """The files named, else those of bench.toml, else every markdown file that git tracks.

    Raises BenchError when a file named is not there.
    """
    if named:
        for path in named:
            if not path.is_file():
                raise BenchError(f"no such file: {path}", hint="bench report --update README.md")
        return list(named)
    settings = read_settings()
    if settings.pages and settings.file:
        folder = settings.file.parent
        found = {path for pattern in settings.pages for path in matching(folder, pattern)}
        return [_relative(path) for path in sorted(found) if path.is_file()]
    if not _in_checkout():
        return sorted(path for path in Path().glob("*.md") if path.is_file())
    top = top_of_checkout()
    tracked = git("-C", str(top), "ls-files", "-z", "--", "*.md", "*.markdown")
    # An index made by others may have names that git itself refuses.
    plain = (name for name in tracked.split("\0") if name and ".." not in name.split("/"))
    found = {Path(top, name) for name in plain if not name.startswith("/")}
    return [_relative(path) for path in sorted(found) if path.is_file()]


def examine(paths: Iterable[Path], sources: Sources) -> list[Page]:
    """Every file that has regions or broken markers."""
    charts: dict[Path, tuple[str, str]] = {}
    pages = [_examine(path, sources, charts) for path in paths]
    return [page for page in pages if page.document.regions or page.errors]


def refuse_errors(pages: Sequence[Page]) -> None:
    """Raises BenchError for wrong markers and regions; the first error counts the others."""
    errors = [error for page in pages for error in page.errors]
    if errors:
        more = "".join(f"\nand: {error}" for error in errors[1:])
        first = errors[0]
        first.hint = f"{first.hint}{more}" if more else first.hint
        raise first


def require_regions(pages: Sequence[Page], named: Sequence[Path]) -> None:
    """Raises BenchError when files are named and none has a region."""
    if named and not pages:
        error = BenchError(
            "no region found in " + ", ".join(map(str, named)),
            hint="mark the place with the lines <!-- bench:begin report=days --> and"
            " <!-- bench:end -->",
        )
        error.exit_code = NOTHING_RECOGNISED
        raise error


def write(pages: Sequence[Page], sources: Sources) -> None:
    """Write the stale charts, then pages; all or nothing.

    Pages that are sources of each other or themselves are rendered until they are stable.
    Raises BenchError, with every page unchanged, if they never are.
    """
    kept = [page.path for page in pages] + [c.file for page in pages for c in page.charts]
    before = {path: path.read_bytes() if path.is_file() else None for path in kept}
    try:
        _settle(pages, sources)
    except BaseException:
        for path, data in before.items():
            if data is not None:
                _write_atomically(data, path)
            else:
                path.unlink(missing_ok=True)
        raise


def _settle(pages: Sequence[Page], sources: Sources) -> None:
    for _ in range(ROUNDS):
        for page in pages:
            _write(page)
        if not any(_is_source(page, sources) for page in pages):
            return
        sources.forget()
        pages = examine([page.path for page in pages], sources)
        refuse_errors(pages)
        if not any(page.is_stale for page in pages):
            return
    raise BenchError(
        f"{', '.join(page.name for page in pages if page.is_stale)} never converges: its"
        " regions depend on the page itself",
        why="a region shows the page's own digest, as the model page does",
        hint="use report=days, sweep or runs, or remove the page from the sources",
    )


def difference(page: Page) -> str:
    """The pending changes as a unified diff that ignores the padding of tables."""
    old, new = page.text.splitlines(), page.expected.splitlines()
    bare_old, bare_new = (list(map(_without_padding, lines)) for lines in (old, new))
    if bare_old == bare_new:
        bare_old, bare_new = old, new
    names = f"{page.name} (current)", f"{page.name} (expected)"
    lines = [*difflib.unified_diff(bare_old, bare_new, *names, n=1, lineterm="")]
    if not lines and old == new and page.stale:  # only line ends or the digest
        lines = [f"{page.name}: digest of a region does not match its text"]
    lines += [f"{chart.file}: {_chart_state(chart)}" for chart in page.stale_charts]
    return "".join(f"{line}\n" for line in lines)


def _chart_state(chart: Chart) -> str:
    return "the chart is outdated" if chart.file.exists() else "the chart is missing"


def _examine(path: Path, sources: Sources, charts: dict[Path, tuple[str, str]]) -> Page:
    name = path.as_posix()
    text = _text(path)
    try:
        document = read_document(text, name)
    except BenchError as error:
        return Page(path, Document(name, (), ()), text, errors=(error,))
    page = Page(path, document, text)
    if document.regions:
        try:
            _require_own(path)
        except BenchError as error:
            return replace(page, errors=(error,))
    for region in document.regions:
        place = f"{name}:{region.begin}"
        try:
            made = make(region, path, sources)
            for chart in made.charts:
                owner, data = charts.setdefault(chart.file.resolve(), (place, chart.data))
                if data != chart.data:
                    raise BenchError(
                        f"two regions write {chart.file}", why=f"also written at {owner}",
                        hint="set charts=OTHER-DIR in one of them",
                    )  # fmt: skip
        except NotRendered:
            page = replace(page, unchecked=(*page.unchecked, region))
            continue
        except BenchError as error:
            error.where = f"{place} ({error.where})" if error.where else place
            page = replace(page, errors=(*page.errors, error))
            continue
        page = replace(
            page, bodies={**page.bodies, region: made.body}, charts=(*page.charts, *made.charts)
        )
    return page if page.errors else _found_again(page)


def _require_own(path: Path) -> None:
    """Raises BenchError for a page whose name is in this repository, and its file outside.

    The folders of its name are not resolved first: one that is a link would choose the repository.
    """
    name, here = Path(os.path.abspath(path)), Path.cwd()
    home = next((above for above in (here, *here.parents) if (above / ".git").exists()), here)
    if not name.is_relative_to(home):  # a page of another repository, which the user names
        home = name.parent
    inside(home, name.relative_to(home).as_posix())


def _found_again(page: Page) -> Page:
    """The page, with an error if a region could not be parsed again once it is written."""
    try:
        found = read_document(page.expected, page.name).regions
    except BenchError:
        found = ()
    regions = page.document.regions
    same = zip(regions, found, strict=False)
    kept = next((at for at, (old, new) in enumerate(same) if old.options != new.options),
                min(len(regions), len(found)))  # fmt: skip
    if kept == len(regions) == len(found):
        return page
    error = BenchError(
        "generated text would break the region's markers",
        why="its content would turn the end marker, or the text after it, into code",
        where=f"{page.name}:{regions[min(kept, len(regions) - 1)].begin}",
        hint="close the code fence in the template; indent markers by at most three spaces, or"
        " like their list item",
    )
    return replace(page, errors=(error,))


def _text(path: Path) -> str:
    try:
        return read_regular(path, _LARGEST).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise BenchError(
            "cannot read a page", why=error.strerror or str(error), where=str(path)
        ) from error


def _write(page: Page) -> None:
    for chart in page.stale_charts:
        _write_atomically(chart.svg, chart.file)
    if page.expected != page.text:
        _write_atomically(page.expected.encode("utf-8", "surrogateescape"), page.path)


def _write_atomically(data: bytes, path: Path) -> None:
    """Write a file atomically; follows links within the repository."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path.resolve(), data)
    except OSError as error:
        why = error.strerror or str(error)
        raise BenchError("cannot write a file", why=why, where=str(path)) from error


def _is_source(page: Page, sources: Sources) -> bool:
    """Whether the page is one of its own sources."""
    return sources.has_read(uri_of(page.path, sources.home))


def _without_padding(line: str) -> str:
    """A table row without padding, which changes with every column width."""
    if not line.lstrip().startswith("|"):
        return line
    return _RULE.sub("---", _BLANKS.sub(" ", line))


def _relative(path: Path) -> Path:
    """The path relative to the working directory, if that is shorter."""
    relative = Path(os.path.relpath(path))
    return path if relative.parts[:2] == ("..", "..") else relative


def _in_checkout() -> bool:
    """Whether this folder or one above it holds a `.git`; git decides whether it opens it."""
    return any((folder / ".git").exists() for folder in (Path.cwd(), *Path.cwd().parents))


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files matching one `pages` entry of bench.toml; raises BenchError if there are none."""
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise BenchError(f"pages: {pattern!r} is outside of the directory of bench.toml",
                         hint="patterns are relative to bench.toml: docs/**/*.md")  # fmt: skip
    if Path(pattern).parts.count("**") > 1:  # each more looks below every folder of the last
        raise BenchError(f"pages: {pattern!r} has more than one **", hint="docs/**/*.md")
    found = sorted(folder.glob(pattern))
    if not found:
        what = "matches no file" if set("*?[") & set(pattern) else "does not exist"
        raise BenchError(f"pages: {pattern!r} {what}", where=str(folder / pattern),
                         hint="paths are relative to bench.toml")  # fmt: skip
    return found
