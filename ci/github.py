"""`bench ci github`: check, compare, annotate, summarise, keep one comment in a pull request."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..schema.errors import FINE, FOUND, BenchError
from ..terminal.messages import say
from ..terminal.settings import JobSettings, read_settings
from ..terminal.tables import emit
from . import comment as text_of
from .api import ApiError
from .review import Mark, keep_comment, marks, review
from .sticky import GitHub

_COMMAND = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


@dataclass(frozen=True, slots=True)
class Job:
    """What GitHub tells a job by its environment."""

    repository: str
    token: str = field(repr=False)
    api: str
    base: str
    event: Mapping[str, Any]
    summary: Path | None

    @property
    def host(self) -> GitHub:
        return GitHub.of(self.api, self.repository, self.token)

    @property
    def pull_request(self) -> int | None:
        asked = self.event.get("pull_request")
        number = asked.get("number") if isinstance(asked, dict) else None
        return number if isinstance(number, int) else None


def read_job(environment: Mapping[str, str]) -> Job:
    """The job as its environment tells it; raises BenchError for an event file that is broken."""
    path = environment.get("GITHUB_EVENT_PATH")
    try:
        event = json.loads(Path(path).read_text("utf-8")) if path else {}
    except (OSError, ValueError) as error:
        raise BenchError("the event cannot be read", why=str(error), where=str(path),
                         hint="GITHUB_EVENT_PATH names a JSON file") from error  # fmt: skip
    if not isinstance(event, dict):
        raise BenchError("the event cannot be read", why="it is no JSON object", where=str(path),
                         hint="GITHUB_EVENT_PATH names a JSON file")  # fmt: skip
    summary = environment.get("GITHUB_STEP_SUMMARY")
    ref = environment.get("GITHUB_BASE_REF")
    return Job(
        environment.get("GITHUB_REPOSITORY", ""), environment.get("GITHUB_TOKEN", "").strip(),
        environment.get("GITHUB_API_URL") or "https://api.github.com",
        f"origin/{ref}" if ref else "", event, Path(summary) if summary else None,
    )  # fmt: skip


def github(
    named: Sequence[Path], base: str | None, save: Path | None, post: Path | None, timeout: float
) -> int:
    """Do all of it, or with `post` only write the comment that another job has saved."""
    job = read_job(os.environ)
    settings = read_settings().github
    if post:
        return _post(job, post)
    history = "actions/checkout with fetch-depth: 0 brings the history"
    found = review(named, base or job.base, settings, timeout, history)
    emit("".join(f"{_annotation(mark)}\n" for mark in marks(found)))
    _summarise(job, found.body)
    if save:
        told = {"pull_request": job.pull_request, "body": found.body, "is_news": found.is_news,
                "comment": settings.comment, "comment_id": settings.comment_id}  # fmt: skip
        emit(json.dumps(told, ensure_ascii=False) + "\n", save)
    _comment(job, settings, found.body, job.pull_request, found.is_news)
    return found.code(settings)


def _annotation(mark: Mark) -> str:
    file, title = mark.file.translate(_PROPERTY), mark.title.translate(_PROPERTY)
    told = mark.message.strip().translate(_COMMAND)
    return f"::{mark.level} file={file},line={mark.line},title={title}::{told}"


def _summarise(job: Job, body: str) -> None:
    if job.summary is None:
        return
    text = text_of.cut(body, text_of.SUMMARY_LIMIT, "`bench diff` tells all.")
    try:
        with job.summary.open("a", encoding="utf-8") as stream:
            stream.write(text + "\n")
    except OSError as error:
        raise BenchError(
            "the job summary cannot be written", why=error.strerror or str(error),
            where=str(job.summary), hint="check GITHUB_STEP_SUMMARY",
        ) from error  # fmt: skip


def _comment(job: Job, settings: JobSettings, body: str, number: int | None, is_news: bool) -> bool:
    """Write the comment if there is where and with what; tells why not, and never fails the job."""
    if settings.comment == "never" or number is None:
        say("comment: none (bench.toml says never)" if number else "comment: no pull request")
        return True
    if not job.token or not re.fullmatch(r"[\w.-]+/[\w.-]+", job.repository):
        missing = "GITHUB_TOKEN" if not job.token else "GITHUB_REPOSITORY"
        say(f"comment: not written, {missing} is not set (pull requests from forks: docs/ci)")
        return False
    rest = "The job summary has them."
    try:
        keep_comment(job.host, settings, body, number, is_news=is_news, rest=rest)
    except ApiError as error:
        fork = " (the token may only read: pull requests from forks, docs/ci)"
        emit(f"::warning title=bench::comment not written: {str(error).translate(_COMMAND)}"
             f"{fork if error.status == 403 else ''}\n")  # fmt: skip
        return False
    return True


def _post(job: Job, saved: Path) -> int:
    """Post what a job without rights has saved, to the pull request that it ran for.

    The file comes from whoever opened the pull request, and may say anything as text: it is posted
    only to that pull request, under our marker, and mentions nobody.
    """
    number, body, settings, is_news = _saved(saved)
    run = job.event.get("workflow_run")
    ran_for = run.get("head_sha") if isinstance(run, dict) else None
    try:
        head = job.host.head_of(number)
    except ApiError as error:
        raise BenchError("the pull request cannot be looked up", why=str(error),
                         hint="pull-requests: write, and GITHUB_TOKEN") from error  # fmt: skip
    if not ran_for or head != ran_for:
        raise BenchError(
            f"the saved comment is not of pull request {number}",
            why="its last commit is not the one that the job ran for", where=str(saved),
            hint="a newer push has its own job",
        )  # fmt: skip
    written = _comment(job, settings, text_of.harmless(body), number, is_news)
    return FINE if written else FOUND


def _saved(file: Path) -> tuple[int, str, JobSettings, bool]:
    """Number, text, settings and whether it is news; raises BenchError for what is not ours."""
    hint = "bench ci github --save FILE writes one"
    try:
        told = json.loads(file.read_text("utf-8"))
        number, body, is_news = told["pull_request"], told["body"], told["is_news"]
        settings = JobSettings(told["comment"], told["comment_id"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BenchError("the saved comment cannot be read", why=str(error), where=str(file),
                         hint=hint) from error  # fmt: skip
    is_ours = (
        type(number) is int
        and type(body) is str
        and type(is_news) is bool
        and settings.comment in ("on-change", "always", "never")
        and re.fullmatch(r"[\w.-]{1,60}", str(settings.comment_id)) is not None
        and body.startswith(text_of.marker(settings.comment_id))
    )
    if not is_ours:
        raise BenchError("the saved comment is not one of ours", where=str(file), hint=hint)
    return number, body, settings, is_news
