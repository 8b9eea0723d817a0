"""What git has of files at a revision, written into a temporary folder."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..schema.errors import BenchError


@contextmanager
def checked_out(revision: str, named: Sequence[Path]) -> Iterator[tuple[Path, Path, list[Path]]]:
    """What git has of paths at a revision: a folder, the checkout that it mirrors, and the paths
    in it that were there. Raises BenchError where git does not know the revision."""
    top = Path(git("rev-parse", "--show-toplevel").strip()).resolve()
    commit = commit_of(top, revision)
    then = names_at(top, commit, [from_top(path.resolve(), top) for path in named])
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "tree")
        check_out(top, commit, then, root)
        yield root, top, [root / name for name in then if (root / name).exists()]


def commit_of(top: Path, revision: str) -> str:
    """The id of the commit that a revision means; raises BenchError where git knows none."""
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return git("-C", str(top), *arguments, failed=f"unknown git revision {revision!r}").strip()


def names_at(top: Path, commit: str, names: Sequence[str]) -> list[str]:
    """What these paths were called at a commit: a file that was renamed is the same file."""
    listing = git("-C", str(top), "diff", "--name-status", "--find-renames", "-z", commit)
    words = iter(listing.split("\0"))
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


def check_out(top: Path, commit: str, names: Sequence[str], root: Path) -> None:
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


def from_top(path: Path, top: Path) -> str:
    """A path relative to the top of its checkout; raises BenchError outside of it."""
    if not path.is_relative_to(top):
        raise BenchError(f"{path} is outside the checkout", why=f"the checkout is {top}",
                         hint="use paths in the checkout, or OLD and NEW")  # fmt: skip
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
        raise BenchError("git not found", hint="bench diff OLD NEW works without git") from error
    except subprocess.CalledProcessError as error:
        why = error.stderr.decode("utf-8", "replace").strip()
        raise BenchError(failed, why=why, hint="try git fetch") from error
