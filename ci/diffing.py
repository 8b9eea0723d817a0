"""`bench diff`: two sides opened, compared, laid out."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..reports import rowdiff, rowtable
from ..reports.conditions import condition
from ..reports.selection import Selection, select
from ..schema.errors import FINE, FOUND, NOTHING_TO_COMPARE, BenchError, NothingRecognised
from ..schema.warehouse import Warehouse, open_read
from ..terminal.messages import say
from ..terminal.settings import FILE, find_home, read_file, read_settings
from ..terminal.tables import Format, choose_format, emit, render
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
        text = rowtable.markdown(found)
    elif form is Format.JSON:
        import json

        text = json.dumps(rowtable.plain(found), ensure_ascii=False, indent=1) + "\n"
    else:
        text = render(rowtable.columns(found), rowtable.cells(found), form) if found.changes else ""
        if form is Format.TABLE and (common := rowtable.common_words(found)):
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
    home = find_home(Path.cwd()).resolve()
    named = [path.resolve() for path in paths or read_settings().sources]
    top = Path(git("rev-parse", "--show-toplevel").strip()).resolve()
    now = [_below(path, top) for path in named]
    commit = _commit(top, base)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "tree")
        then = _earlier(top, commit, now) if paths else _sources_then(top, commit, home, root)
        if not (now or then):
            raise BenchError(
                "nothing is named to compare", why="and bench.toml names no sources",
                hint="bench diff --base main logs/ README.md",
            )  # fmt: skip
        _check_out(top, commit, then, root)
        _drop_wrong(root / home.relative_to(top) / FILE)
        old = [root / name for name in then if (root / name).exists()]
        before = _rows(old, root / home.relative_to(top), where) if old else []
        after = _rows([path for path in named if path.exists()], home, where)
        return _compared(before, after)


@contextmanager
def checked_out(revision: str, named: Sequence[Path]) -> Iterator[tuple[Path, Path, list[Path]]]:
    """What git has of paths at a revision: a folder, the checkout that it mirrors, and the paths
    in it that were there. Raises BenchError where git does not know the revision."""
    top = Path(git("rev-parse", "--show-toplevel").strip()).resolve()
    commit = _commit(top, revision)
    then = _earlier(top, commit, [_below(path.resolve(), top) for path in named])
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "tree")
        _check_out(top, commit, then, root)
        yield root, top, [root / name for name in then if (root / name).exists()]


def _commit(top: Path, revision: str) -> str:
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return git("-C", str(top), *asked, failed=f"git knows no {revision!r} here").strip()


def _sources_then(top: Path, commit: str, home: Path, root: Path) -> list[str]:
    """The sources that bench.toml named at a commit; without one those that it names now."""
    name = (home / FILE).relative_to(top).as_posix()
    _check_out(top, commit, [name], root)
    file, base, found = root / name, top, read_settings().sources
    try:
        if file.is_file() and (earlier := read_file(file).sources):
            base, found = root, earlier
    except BenchError as error:
        say(f"bench.toml at {commit[:12]} is wrong ({error.what}): the sources of now are compared")
    names = [Path(os.path.relpath(source, base)).as_posix() for source in found]
    # A link is followed as it leads now: what it leads to is what git has.
    real = [(top / name).resolve() for name in names]
    return [
        at.relative_to(top).as_posix() if at.exists() and at.is_relative_to(top) else name
        for at, name in zip(real, names, strict=True)
    ]


def _drop_wrong(settings: Path) -> None:
    """A bench.toml that was wrong then is what this branch may mend: it is read as none."""
    try:
        if settings.is_file():
            read_file(settings)
    except BenchError:
        settings.unlink()


def _earlier(top: Path, commit: str, names: Sequence[str]) -> list[str]:
    """What these paths were called at a commit: a file that was renamed is the same file."""
    told = git("-C", str(top), "diff", "--name-status", "--find-renames", "-z", commit)
    words = iter(told.split("\0"))
    renamed = {}
    for status in words:
        if status.startswith(("R", "C")):
            old, new = next(words), next(words)
            renamed[new] = old
        elif status:
            next(words)
    found: dict[str, None] = {}
    for name in names:
        moved = [old for new, old in renamed.items() if new.startswith(f"{name}/")]
        found |= dict.fromkeys([renamed.get(name, name), *moved])
    return list(found)


def _check_out(top: Path, commit: str, names: Sequence[str], root: Path) -> None:
    """Write these files of a commit below `root`, as a checkout has them; the index stays as it is.

    `git archive` would leave out what `export-ignore` names.
    """
    if not names:
        return
    index = {"GIT_INDEX_FILE": str(root.with_name("index"))}
    at = ("-C", str(top), "--literal-pathspecs")
    git_bytes(*at, "read-tree", commit, env=index)
    listed = git_bytes(*at, "ls-files", "-z", "--cached", "--", *names, env=index)
    git_bytes(
        *at, "checkout-index", "-f", "-z", "--stdin", f"--prefix={root}/", env=index, given=listed
    )


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
        warehouse = read(paths, root, read_settings().formats)
    except NothingRecognised:
        return []  # a side without a run is all added or all removed
    with warehouse:
        return rowdiff.rows(warehouse, _condition(warehouse, where))


def _condition(warehouse: Warehouse, where: str | None) -> str | None:
    if where is None:
        return None
    select(warehouse, Selection())
    return condition(warehouse, where)


def _below(path: Path, top: Path) -> str:
    if not path.is_relative_to(top):
        raise BenchError(f"{path} lies outside of the checkout", why=f"that is {top}",
                         hint="name files of the checkout, or OLD and NEW")  # fmt: skip
    return path.relative_to(top).as_posix()


def git(*words: str, failed: str = "git failed") -> str:
    """What git says; raises BenchError when it fails."""
    return git_bytes(*words, failed=failed).decode("utf-8", "surrogateescape")


def git_bytes(
    *words: str,
    failed: str = "git failed",
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
) -> bytes:
    """The same as bytes; `env` is added to the environment, `given` is its standard input."""
    try:
        return subprocess.run(
            ["git", *words], input=given, env=os.environ | (env or {}), capture_output=True,
            check=True,
        ).stdout  # fmt: skip
    except FileNotFoundError as error:
        raise BenchError("there is no git", hint="bench diff OLD NEW needs none") from error
    except subprocess.CalledProcessError as error:
        why = error.stderr.decode("utf-8", "replace").strip()
        raise BenchError(failed, why=why, hint="git fetch may bring what is not here") from error
