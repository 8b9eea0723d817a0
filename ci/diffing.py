"""`bench diff`: open two sides, compare them, format the differences."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..project.checkout import check_out, commit_of, from_top, names_at
from ..project.git import top_of_checkout
from ..project.read import open_settled, read
from ..project.repository import FILE, find_home
from ..project.settings import read_file, read_settings
from ..reports import row_diff, row_diff_table
from ..schema.errors import FINE, FOUND, NOTHING_TO_COMPARE, BenchError, NothingRecognised
from ..schema.warehouse import Row
from ..terminal.messages import info, warn_of
from ..terminal.tables import Format, choose_format, emit, render
from ..vocabulary.printable import json_text
from .sources import Sources, require_sources_inside

DATABASES = (".duckdb", ".db")


def diff(
    paths: Sequence[Path],
    base: str | None,
    where: str | None,
    check: bool,
    form: Format | None,
    output: Path | None,
) -> int:
    """Compare OLD with NEW, or files with their version in git; returns the exit code."""
    found = against(base, paths, where) if base else between(paths, where)
    form = choose_format(form, output)
    if form is Format.MD:
        text = row_diff_table.markdown(found)
    elif form is Format.JSON:
        text = json_text(row_diff_table.plain(found), indent=1) + "\n"
    else:
        text = (
            render(row_diff_table.columns(found), row_diff_table.cells(found), form)
            if found.changes
            else ""
        )
        if form is Format.TABLE and (common := row_diff_table.common_words(found)):
            text += f"all: {common}\n"
    emit(text, output, name=f"diff.{form}")
    if form is not Format.MD or output:
        info(found.headline)
    return FOUND if check and (found.counts["changed"] or found.counts["removed"]) else FINE


def between(paths: Sequence[Path], where: str | None) -> row_diff.Diff:
    """Two files, folders or warehouses."""
    if len(paths) != 2:
        raise BenchError(
            "diff needs two sides", why=f"{len(paths)} given",
            hint="bench diff OLD NEW, or bench diff --base REV PATH...",
        )  # fmt: skip
    old, new = (_rows([path], Path.cwd(), where) for path in paths)
    return _compared(old, new)


def against(
    base: str, paths: Sequence[Path], where: str | None = None, sources: Sources | None = None
) -> row_diff.Diff:
    """Compare the working tree with git's version at `base`; without paths, the sources of
    bench.toml, which `sources` may have read already."""
    home = find_home(Path.cwd()).resolve()
    named = [path.resolve() for path in paths or read_settings().sources]
    top = top_of_checkout()
    is_own = bool(paths) and sources is None  # the user's, who may name what lies elsewhere
    if not is_own:
        require_sources_inside(home, [path for path in named if path.exists()], home)
    now = [from_top(path, top) for path in named]
    commit = commit_of(top, base)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "tree")
        Path(root, ".git").mkdir(parents=True)  # where paths of its bench.toml end
        then = names_at(top, commit, now) if paths else _sources_then(top, commit, home, root)
        if not (now or then):
            raise BenchError(
                "no paths to compare", why="and bench.toml sets no sources",
                hint="bench diff --base main logs/ README.md",
            )  # fmt: skip
        check_out(top, commit, then, root)
        _drop_wrong(root / home.relative_to(top) / FILE)
        old = [root / name for name in then if (root / name).exists()]
        if not is_own:
            require_sources_inside(root, old, root / home.relative_to(top))
        before = _rows(old, root / home.relative_to(top), where) if old else []
        kept = sources.kept(read_settings().sources) if sources and not paths else None
        present = [path for path in named if path.exists()]
        after = row_diff.rows(kept, where) if kept else _rows(present, home, where)
        return _compared(before, after)


def _sources_then(top: Path, commit: str, home: Path, root: Path) -> list[str]:
    """The sources in bench.toml as of a commit; the current ones if it had no bench.toml then."""
    name = (home / FILE).relative_to(top).as_posix()
    check_out(top, commit, [name], root)
    file, base, found = root / name, top, read_settings().sources
    try:
        if file.is_file() and (earlier := read_file(file).sources):
            base, found = root, earlier
    except BenchError as error:
        info(f"bench.toml at {commit[:12]} is invalid ({error.what}); using the current sources")
    names = [Path(os.path.relpath(source, base)).as_posix() for source in found]
    # A link is resolved in the working tree: git has its target, not the link.
    real = [(top / name).resolve() for name in names]
    return [
        at.relative_to(top).as_posix() if at.exists() and at.is_relative_to(top) else name
        for at, name in zip(real, names, strict=True)
    ]


def _drop_wrong(settings: Path) -> None:
    """Treat an invalid bench.toml of the base as missing: this branch may be its fix."""
    try:
        if settings.is_file():
            read_file(settings)
    except BenchError:
        settings.unlink()


def _compared(old: list[Row], new: list[Row]) -> row_diff.Diff:
    if not old and not new:
        error = BenchError("nothing to compare", why="neither side has a measured run",
                           hint="check the paths")  # fmt: skip
        error.exit_code = NOTHING_TO_COMPARE
        raise error
    return row_diff.compare(old, new)


def _rows(paths: Sequence[Path], root: Path, where: str | None) -> list[Row]:
    if not paths:
        return []
    if len(paths) == 1 and paths[0].suffix in DATABASES:
        with open_settled(paths[0]) as warehouse:
            return row_diff.rows(warehouse, where)
    try:
        warehouse, _, checked = read(paths, root, read_settings().formats)
        warn_of(checked.contradictions)
    except NothingRecognised:
        return []  # a side without a run is all added or all removed
    with warehouse:
        return row_diff.rows(warehouse, where)
