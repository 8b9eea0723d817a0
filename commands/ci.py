"""`bench ci`: the steps of a job in a pull request."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..schema.errors import BenchError
from ..terminal import options as o
from ..terminal.source import Source


class Task(StrEnum):
    """The tasks of `bench ci`."""

    GITHUB = "github"
    GITLAB = "gitlab"
    CONFIG = "config"


_TASKS = {
    "--base": (Task.GITHUB, Task.GITLAB),
    "--save": (Task.GITHUB,),
    "--post": (Task.GITHUB,),
    "--fork-templates": (Task.GITHUB, Task.GITLAB),
    "--code-quality": (Task.GITLAB,),
}


@o.command(source=())
def ci(
    source: Source,
    task: Annotated[
        Task,
        typer.Argument(
            metavar="github|gitlab|config", help="CI system; config: validate bench.toml."
        ),
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE", help="Markdown files; config: bench.toml. Default: as in bench.toml."
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="REV", help="Compare with the merge base of HEAD and REV."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Save the comment for --post; write none."),
    ] = None,
    post: Annotated[
        Path | None, typer.Option("--post", metavar="FILE", help="Only post a saved comment.")
    ] = None,
    quality: Annotated[
        Path | None,
        typer.Option("--code-quality", metavar="FILE", help="Write a GitLab Code Quality report."),
    ] = None,
    fork_templates: Annotated[
        bool, typer.Option("--fork-templates", help="Render templates of forks too.")
    ] = False,
) -> None:
    """Check a pull request: regions, row changes, annotations.

    Keeps one comment on the request up to date.
    """
    _refuse_others(task, {"--base": base, "--save": save, "--post": post,
                          "--code-quality": quality,
                          "--fork-templates": fork_templates or None})  # fmt: skip
    if task is Task.CONFIG:
        from ..ci.config import validate

        validate(files or [])
        return
    if task is Task.GITLAB:
        from ..ci.gitlab import gitlab

        code = gitlab(files or [], base, quality, source.lock_timeout, fork_templates)
        raise typer.Exit(code)
    from ..ci.github import github, post_saved

    code = (
        post_saved(post)
        if post
        else github(files or [], base, save, source.lock_timeout, fork_templates)
    )
    raise typer.Exit(code)


def _refuse_others(task: Task, given: Mapping[str, object]) -> None:
    """Raises BenchError for an option that does not apply to the task."""
    for name, value in given.items():
        if value is not None and task not in _TASKS[name]:
            raise BenchError(f"{name} does not apply to bench ci {task}", hint="bench ci --help")
