"""Runs git so that no setting of the repository starts a command or reaches the network.

A repository's `.git/config` is untrusted and may name commands: hooks, filters, a file monitor,
signatures, transports. The user's own settings stay in effect, such as `safe.directory`. Callers
use plumbing without filters, which neither reads nor writes files of the checkout.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from ..schema.errors import BenchError
from ..vocabulary.output_recording import note_source

# Set on the command line, which has precedence over all configuration files.
_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.pager=cat",
    "diff.external=",
    "log.showSignature=false",  # it runs gpg.program
    "protocol.allow=never",
    "safe.bareRepository=explicit",  # ignores folders of the checkout that look like repositories
)
# Missing blobs of partial clones are not fetched. The setting of a single protocol, such as
# protocol.ext.allow, has precedence over protocol.allow; the variable has over both.
_ENVIRONMENT = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
_STDERR_BYTES = 10_000  # read from the stderr of a failed git
DIFF = (
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
)  # submodules would run git status inside


def git(*words: str, failed: str = "git failed") -> str:
    """Run git and return its output; raises BenchError if it fails."""
    return git_bytes(*words, failed=failed).decode("utf-8", "surrogateescape")


def git_bytes(*words: str, failed: str = "git failed") -> bytes:
    """Run git and return its output as bytes."""
    try:
        return subprocess.run(
            _command(words), stdin=subprocess.DEVNULL, env=os.environ | _ENVIRONMENT,
            capture_output=True, check=True,
        ).stdout  # fmt: skip
    except FileNotFoundError as error:
        raise _not_found() from error
    except subprocess.CalledProcessError as error:
        raise _failed(failed, error.stderr) from error


@contextmanager
def git_process(*words: str, failed: str = "git failed") -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """A running git's standard input and output, for output too large for memory.

    It ends with the block. Raises BenchError if git is missing or fails by itself.
    """
    with tempfile.TemporaryFile() as stderr:
        try:
            process = subprocess.Popen(
                _command(words), env=os.environ | _ENVIRONMENT,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise _not_found() from error
        assert process.stdin is not None and process.stdout is not None, "both are pipes"
        broken = False
        try:
            yield process.stdin, process.stdout
        except (BrokenPipeError, EOFError):
            broken = True
        finally:
            with suppress(OSError):
                process.stdin.close()
            finished = not process.stdout.read(1)  # else the caller stopped reading
            process.stdout.close()
            if not finished:
                process.kill()
            code = process.wait()
        if broken or (finished and code):
            stderr.seek(0)
            raise _failed(failed, stderr.read(_STDERR_BYTES))


def _command(words: tuple[str, ...]) -> list[str]:
    note_source(committed=False)  # what git has, no key of an answer tells
    return ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *words]


def _not_found() -> BenchError:
    return BenchError("git not found", hint="bench diff OLD NEW works without git")


def _failed(failed: str, stderr: bytes) -> BenchError:
    why = stderr.decode("utf-8", "replace").strip()
    outside = "not a git repository" in why
    hint = (
        "a word that is no file, run or condition is a git revision" if outside else "try git fetch"
    )
    return BenchError(failed, why=why, hint=hint)


def top_of_checkout() -> Path:
    """The top of the checkout of the working folder, with links resolved.

    Raises BenchError outside of a checkout, or if `core.worktree` points elsewhere.
    """
    top = Path(git("rev-parse", "--show-toplevel").rstrip("\n")).resolve()
    if not ((top / ".git").exists() and Path.cwd().resolve().is_relative_to(top)):
        raise BenchError("not in a git checkout", why=f"core.worktree is {top}",
                         hint="git config --unset core.worktree")  # fmt: skip
    return top


_ID = re.compile(r"[0-9a-f]{7,40}")
_MOST = 2000  # names per git call
_DIGITS = 20  # of a timestamp
_LAST = 253_402_300_800  # the year 10000, which no date has


def added(root: Path, names: Collection[str]) -> dict[str, datetime]:
    """The times (UTC) of the first commits of these files below `root`, of those known to git."""
    plain = [name for name in names if "!/" not in name and not name.startswith(("-", "/"))]
    text = _git_output(root, "log", "--format=%x01%ct", "--diff-filter=A", "--name-only", "-z",
                  "--relative", "--", *plain[:_MOST]) if plain else ""  # fmt: skip
    found: dict[str, datetime] = {}
    for part in text.split("\x01")[1:]:
        seconds, _, listed = part.partition("\0")
        for name in listed.split("\0"):
            if name.strip("\n") and (at := _time(seconds)):
                found[name.strip("\n")] = at  # git log has the oldest commit last
    return found


def committed(root: Path, commits: Collection[str]) -> dict[str, datetime]:
    """The times (UTC) of these commits, full or abbreviated ids, of those in the repository."""
    found: dict[str, datetime] = {}
    for commit in sorted(filter(_ID.fullmatch, commits))[:_MOST]:
        text = _git_output(
            root, "show", "-s", "--format=%ct", "--end-of-options", f"{commit}^{{commit}}"
        )
        if at := _time(text.strip()):
            found[commit] = at
    return found


def _time(seconds: str) -> datetime | None:
    """A git timestamp as UTC; None for one that no clock shows, which a commit may have."""
    if not (seconds.isdecimal() and int(seconds[:_DIGITS]) < _LAST):
        return None
    return datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None)


def _git_output(root: Path, *words: str) -> str:
    """Git's output in a folder; empty outside of a repository or without git."""
    try:
        return git("-C", str(root), "--literal-pathspecs", *words)
    except BenchError:
        return ""
