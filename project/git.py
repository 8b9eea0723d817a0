"""git, run so that no setting of the repository starts a command or reaches the network.

A repository's own `.git/config` may come from whoever packed the folder, and names commands: of
hooks, filters, a file monitor, signatures, a transport. What the user's own settings say stays
(`safe.directory` is there). Callers use plumbing that needs no filter: none reads the files of
the checkout, or writes them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ..schema.errors import BenchError

# Said on the command line, which is heard after every file of settings.
_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.pager=cat",
    "diff.external=",
    "log.showSignature=false",  # it runs gpg.program
    "protocol.allow=never",
    "safe.bareRepository=explicit",  # a folder of the checkout that looks like a repository is none
)
# A missing blob of a partial clone is not fetched. The setting of one protocol, such as
# protocol.ext.allow, would be heard above protocol.allow; the variable is heard above both.
_ENVIRONMENT = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
_SAID = 10_000  # bytes of what git says before it fails
DIFF = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all")  # one asks git status within


def git(*words: str, failed: str = "git failed") -> str:
    """What git says; raises BenchError when it fails."""
    return git_bytes(*words, failed=failed).decode("utf-8", "surrogateescape")


def git_bytes(*words: str, failed: str = "git failed", given: bytes = b"") -> bytes:
    """The same as bytes; `given` is its standard input."""
    try:
        return subprocess.run(
            _command(words), input=given, env=os.environ | _ENVIRONMENT,
            capture_output=True, check=True,
        ).stdout  # fmt: skip
    except FileNotFoundError as error:
        raise _not_found() from error
    except subprocess.CalledProcessError as error:
        raise _failed(failed, error.stderr) from error


@contextmanager
def git_process(*words: str, failed: str = "git failed") -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """git as it runs: its standard input and output, for what is too long to hold.

    It ends with the block. Raises BenchError where it is not there, and where it fails by itself.
    """
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                _command(words), env=os.environ | _ENVIRONMENT,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said,
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
            finished = not process.stdout.read(1)  # else nobody wants the rest
            process.stdout.close()
            if not finished:
                process.kill()
            code = process.wait()
        if broken or (finished and code):
            said.seek(0)
            raise _failed(failed, said.read(_SAID))


def _command(words: tuple[str, ...]) -> list[str]:
    return ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *words]


def _not_found() -> BenchError:
    return BenchError("git not found", hint="bench diff OLD NEW works without git")


def _failed(failed: str, said: bytes) -> BenchError:
    return BenchError(failed, why=said.decode("utf-8", "replace").strip(), hint="try git fetch")


def top_of_checkout() -> Path:
    """The top of the checkout around the working folder, links followed.

    Raises BenchError outside of one, and where `core.worktree` says that it lies elsewhere.
    """
    top = Path(git("rev-parse", "--show-toplevel").rstrip("\n")).resolve()
    if not ((top / ".git").exists() and Path.cwd().resolve().is_relative_to(top)):
        raise BenchError("not in a git checkout", why=f"core.worktree is {top}",
                         hint="git config --unset core.worktree")  # fmt: skip
    return top
