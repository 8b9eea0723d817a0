"""`bench ci`: the work of a job in a pull request."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ...schema.errors import BenchError
from .. import options as o


class Task(StrEnum):
    """What `bench ci` does."""

    GITHUB = "github"
    GITLAB = "gitlab"
    CONFIG = "config"


_TASKS = {
    "--base": (Task.GITHUB, Task.GITLAB),
    "--save": (Task.GITHUB,),
    "--post": (Task.GITHUB,),
    "--code-quality": (Task.GITLAB,),
}


def ci(
    task: Annotated[
        Task,
        typer.Argument(
            metavar="github|gitlab|config", help="A job's work, or a look at bench.toml."
        ),
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Markdown files, or bench.toml; none: the usual."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="REV", help="Compare with where HEAD left this branch."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Keep the comment for --post.")
    ] = None,
    post: Annotated[
        Path | None, typer.Option("--post", metavar="FILE", help="Write only a saved comment.")
    ] = None,
    quality: Annotated[
        Path | None,
        typer.Option("--code-quality", metavar="FILE", help="GitLab's report, which marks lines."),
    ] = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """In a pull request: check regions, compare rows, annotate lines, keep one comment."""
    _refuse_others(task, {"--base": base, "--save": save, "--post": post,
                          "--code-quality": quality})  # fmt: skip
    if task is Task.CONFIG:
        from ...ci.config import validate

        validate(files or [])
        return
    if task is Task.GITLAB:
        from ...ci.gitlab import gitlab

        raise typer.Exit(gitlab(files or [], base, quality, lock_timeout))
    from ...ci.github import github

    raise typer.Exit(github(files or [], base, save, post, lock_timeout))


def _refuse_others(task: Task, given: Mapping[str, object]) -> None:
    """Raises BenchError for an option that the task has no use for."""
    for name, value in given.items():
        if value is not None and task not in _TASKS[name]:
            raise BenchError(f"{name} has no meaning for {task}", hint="bench ci --help")
