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
    if task is Task.CONFIG:
        from ...ci.config import validate

        validate(files or [])
        return
    _refuse_others(task, {"--save": save, "--post": post}, {"--code-quality": quality})
    if task is Task.GITLAB:
        from ...ci.gitlab import gitlab

        raise typer.Exit(gitlab(files or [], base, quality, lock_timeout))
    from ...ci.github import github

    raise typer.Exit(github(files or [], base, save, post, lock_timeout))


def _refuse_others(
    task: Task, of_github: Mapping[str, object], of_gitlab: Mapping[str, object]
) -> None:
    others = of_gitlab if task is Task.GITHUB else of_github
    if wrong := [name for name, value in others.items() if value]:
        raise BenchError(f"{wrong[0]} has no meaning for {task}", hint="bench ci --help")
