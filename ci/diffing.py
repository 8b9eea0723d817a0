"""`bench diff`: two sides opened, compared, laid out."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..reports import listing, rowdiff
from ..reports.selection import Selection, select
from ..schema.errors import FINE, FOUND, NOTHING_TO_COMPARE, BenchError, NothingRecognised
from ..schema.warehouse import Warehouse, open_read
from ..terminal.messages import say
from ..terminal.settings import find_home, read_settings
from ..terminal.tables import Format, choose_format, emit, render
from ..terminal.where import compile_where
from .sources import read

DATABASES = (".duckdb", ".db")


def diff(
    paths: Sequence[Path],
    base: str | None,
    where: str | None,
    check: bool,
    form: Format | None,
    output: Path | None,
) -> int:
    """Compare OLD with NEW, or files with what git has of them; the exit code."""
    found = against(base, paths, where) if base else between(paths, where)
    form = choose_format(form, output)
    if form is Format.MD:
        text = rowdiff.markdown(found)
    elif form is Format.JSON:
        import json

        text = json.dumps(rowdiff.plain(found), ensure_ascii=False, indent=1) + "\n"
    else:
        text = render(rowdiff.columns(found), rowdiff.cells(found), form) if found.changes else ""
        if form is Format.TABLE and (common := rowdiff.common_words(found)):
            text += f"all: {common}\n"
    emit(text, output, name=f"diff.{form}")
    if form is not Format.MD or output:
        say(found.headline)
    return FOUND if check and (found.counts["changed"] or found.counts["removed"]) else FINE


def between(paths: Sequence[Path], where: str | None) -> rowdiff.Diff:
    """Two files, folders or warehouses."""
    if len(paths) != 2:
        raise BenchError(
            "a diff has two sides", why=f"{len(paths)} named",
            hint="bench diff OLD NEW, or bench diff --base REV PATH...",
        )  # fmt: skip
    old, new = (_rows([path], Path.cwd(), where) for path in paths)
    return _compared(old, new)


def against(base: str, paths: Sequence[Path], where: str | None = None) -> rowdiff.Diff:
    """What lies here with what git has of it at `base`; no paths: the sources of bench.toml."""
    home = find_home(Path.cwd())
    named = [path.resolve() for path in paths or read_settings().sources]
    if not named:
        raise BenchError(
            "nothing is named to compare", why="and bench.toml names no sources",
            hint="bench diff --base main logs/ README.md",
        )  # fmt: skip
    with checked_out(base, named) as (root, top, old):
        before = _rows(old, root / home.resolve().relative_to(top), where) if old else []
        after = _rows([path for path in named if path.exists()], home.resolve(), where)
        return _compared(before, after)


@contextmanager
def checked_out(revision: str, named: Sequence[Path]) -> Iterator[tuple[Path, Path, list[Path]]]:
    """What git has of paths at a revision: a folder, the checkout that it mirrors, and the paths
    in it that were there. Raises BenchError where git does not know the revision."""
    top = Path(git("rev-parse", "--show-toplevel").strip()).resolve()
    relative = [_below(path.resolve(), top) for path in named]
    at = ("-C", str(top))
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    commit = git(*at, *asked, failed=f"git knows no {revision!r} here").strip()
    with tempfile.TemporaryDirectory() as scratch:
        listed = {name: git(*at, "ls-tree", "--name-only", commit, "--", name) for name in relative}
        there = [name for name in relative if listed[name] or name == "."]
        if there:
            data = git_bytes(*at, "archive", "--format=tar", commit, "--", *there)
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                archive.extractall(scratch, filter="data")
        root = Path(scratch)
        yield root, top, [root / name for name in there if (root / name).exists()]


def _compared(old: list[rowdiff.Row], new: list[rowdiff.Row]) -> rowdiff.Diff:
    if not old and not new:
        error = BenchError("nothing to compare", why="neither side holds a measured run",
                           hint="check the paths")  # fmt: skip
        error.exit_code = NOTHING_TO_COMPARE
        raise error
    return rowdiff.compare(old, new)


def _rows(paths: Sequence[Path], root: Path, where: str | None) -> list[rowdiff.Row]:
    if not paths:
        return []
    if len(paths) == 1 and paths[0].suffix in DATABASES:
        with open_read(paths[0]) as warehouse:
            return rowdiff.rows(warehouse, _condition(warehouse, where))
    try:
        warehouse = read(paths, root)
    except NothingRecognised:
        return []  # a side without a run is all added or all removed
    with warehouse:
        return rowdiff.rows(warehouse, _condition(warehouse, where))


def _condition(warehouse: Warehouse, where: str | None) -> str | None:
    if where is None:
        return None
    select(warehouse, Selection())
    kinds: Mapping[str, str] = listing.columns(warehouse)
    return compile_where(where, {k: v for k, v in kinds.items() if k not in ("run", "where")})


def _below(path: Path, top: Path) -> str:
    if not path.is_relative_to(top):
        raise BenchError(f"{path} lies outside of the checkout", why=f"that is {top}",
                         hint="name files of the checkout, or OLD and NEW")  # fmt: skip
    return path.relative_to(top).as_posix()


def git(*words: str, failed: str = "git failed") -> str:
    """What git says; raises BenchError when it fails."""
    return git_bytes(*words, failed=failed).decode("utf-8", "surrogateescape")


def git_bytes(*words: str, failed: str = "git failed") -> bytes:
    """The same as bytes."""
    try:
        return subprocess.run(["git", *words], capture_output=True, check=True).stdout
    except FileNotFoundError as error:
        raise BenchError("there is no git", hint="bench diff OLD NEW needs none") from error
    except subprocess.CalledProcessError as error:
        why = error.stderr.decode("utf-8", "replace").strip()
        raise BenchError(failed, why=why, hint="git fetch may bring what is not here") from error
