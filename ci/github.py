"""`bench ci github`: check, diff, annotate, summarise, update one comment on a pull request."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..project.settings import JobSettings, read_settings
from ..schema.errors import FINE, FOUND, BenchError
from ..terminal.messages import info
from ..terminal.tables import emit
from ..vocabulary.printable import Commands, json_text, workflow_command
from ..vocabulary.regular_files import parse_json, read_regular
from . import comment as text_of
from .review import Annotation, annotations_of, review, update_comment
from .sticky import ApiError, GitHub

_LARGEST_EVENT = 64 << 20  # bytes; GitHub sends at most 25 MB


@dataclass(frozen=True, slots=True)
class ActionsJob:
    """A job's settings in GitHub's environment variables."""

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
        request = self.event.get("pull_request")
        number = request.get("number") if isinstance(request, dict) else None
        return number if isinstance(number, int) else None

    @property
    def is_of_fork(self) -> bool:
        """Whether its pull request may come from a fork."""
        request = self.event.get("pull_request")
        if not isinstance(request, dict):
            return False
        head, base = (_repository(request.get(side)) for side in ("head", "base"))
        return head is None or head != base


def _repository(side: object) -> object:
    found = side.get("repo") if isinstance(side, dict) else None
    return found.get("full_name") if isinstance(found, dict) else None


def read_job(environment: Mapping[str, str]) -> ActionsJob:
    """Read the job from its environment; raises BenchError for a broken event file."""
    path = environment.get("GITHUB_EVENT_PATH")
    try:
        event = parse_json(read_regular(Path(path), _LARGEST_EVENT)) if path else {}
    except (OSError, ValueError) as error:
        raise BenchError("cannot read the event", why=str(error), where=str(path),
                         hint="GITHUB_EVENT_PATH must be a JSON file") from error  # fmt: skip
    if not isinstance(event, dict):
        raise BenchError("cannot read the event", why="not a JSON object", where=str(path),
                         hint="GITHUB_EVENT_PATH must be a JSON file")  # fmt: skip
    summary = environment.get("GITHUB_STEP_SUMMARY")
    ref = environment.get("GITHUB_BASE_REF")
    return ActionsJob(
        environment.get("GITHUB_REPOSITORY", ""), environment.get("GITHUB_TOKEN", "").strip(),
        environment.get("GITHUB_API_URL") or "https://api.github.com",
        f"origin/{ref}" if ref else "", event, Path(summary) if summary else None,
    )  # fmt: skip


def github(
    named: Sequence[Path], base: str | None, save: Path | None, timeout: float, fork_templates: bool
) -> int:
    """Check, diff, and comment; `save` stores the comment in a file for a job that may post it."""
    job = read_job(os.environ)
    settings = read_settings().github
    history = "use actions/checkout with fetch-depth: 0"
    own_templates = fork_templates or not job.is_of_fork
    reviewed = review(named, base or job.base, settings, timeout, history, own_templates)
    emit(Commands("".join(map(_annotation, annotations_of(reviewed)))))
    _summarise(job, reviewed.body)
    if save:
        data = {
            "pull_request": job.pull_request, "body": reviewed.body,
            "is_news": reviewed.is_news, "comment": settings.comment,
            "comment_id": settings.comment_id,
        }  # fmt: skip
        emit(json_text(data) + "\n", save)
    else:
        _comment(job, settings, reviewed.body, job.pull_request, reviewed.is_news)
    return reviewed.code(settings)


def _annotation(annotation: Annotation) -> str:
    place = {"file": annotation.file, "line": annotation.line, "title": annotation.title}
    return workflow_command(annotation.level, annotation.message, **place)


def _summarise(job: ActionsJob, body: str) -> None:
    if job.summary is None:
        return
    text = text_of.cut(body, text_of.SUMMARY_LIMIT, "Run `bench diff` for all rows.")
    try:
        with job.summary.open("a", encoding="utf-8") as stream:
            stream.write(text + "\n")
    except OSError as error:
        raise BenchError(
            "cannot write the job summary", why=error.strerror or str(error),
            where=str(job.summary), hint="check GITHUB_STEP_SUMMARY",
        ) from error  # fmt: skip


def _comment(
    job: ActionsJob, settings: JobSettings, body: str, number: int | None, is_news: bool
) -> bool:
    """Write the comment, or say why it cannot be written; never fails the job."""
    if settings.comment == "never" or number is None:
        info(
            "comment: disabled in bench.toml" if number else "comment: skipped, not a pull request"
        )
        return True
    if not job.token or not re.fullmatch(r"[\w.-]+/[\w.-]+", job.repository):
        missing = "GITHUB_TOKEN" if not job.token else "GITHUB_REPOSITORY"
        info(f"comment: not written, {missing} is not set (for forks see docs/pull_requests.md)")
        return False
    rest = "See the job summary."
    try:
        update_comment(job.host, settings, body, number, is_news=is_news, rest=rest)
    except ApiError as error:
        fork = " (read-only token; for forks see docs/pull_requests.md)"
        why = f"comment not written: {error}{fork if error.status == 403 else ''}"
        emit(workflow_command("warning", why, title="bench"))
        return False
    return True


def post_saved(saved: Path) -> int:
    """Post a comment saved by an unprivileged job to the pull request that the job ran for.

    The author of the pull request controls the file's text: it is posted only to that pull
    request, under our marker, without mentions, pictures or commands.
    """
    job = read_job(os.environ)
    number, body, settings, is_news = _saved(saved)
    if number is not None and number != job.pull_request:
        _require_same_commit(job, number, saved)
    written = _comment(job, settings, text_of.untrusted_comment(body), number, is_news)
    return FINE if written or job.pull_request is not None else FOUND


def _require_same_commit(job: ActionsJob, number: int, saved: Path) -> None:
    """Raises BenchError unless the workflow ran for the last commit of the pull request."""
    run = job.event.get("workflow_run")
    ran_for = run.get("head_sha") if isinstance(run, dict) else None
    try:
        head = job.host.head_of(number)
    except ApiError as error:
        raise BenchError(
            "cannot look up the pull request",
            why=str(error),
            hint="set GITHUB_TOKEN and permissions: pull-requests: write",
        ) from error
    if not ran_for or head != ran_for:
        raise BenchError(
            f"the saved comment does not belong to pull request {number}",
            why="the request has newer commits", where=str(saved),
            hint="wait for the job of the newest commit",
        )  # fmt: skip


def _saved(file: Path) -> tuple[int | None, str, JobSettings, bool]:
    """Number, text, settings, whether it is news; raises BenchError for a file that is not ours."""
    hint = "create it with bench ci github --save FILE"
    try:
        data = parse_json(read_regular(file))
        number, body, is_news = data["pull_request"], data["body"], data["is_news"]
        settings = JobSettings(data["comment"], data["comment_id"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchError("cannot read the saved comment", why=str(error), where=str(file),
                         hint=hint) from error  # fmt: skip
    is_ours = (
        (number is None or type(number) is int)
        and type(body) is str
        and type(is_news) is bool
        and settings.comment in ("on-change", "always", "never")
        and re.fullmatch(r"[\w.-]{1,60}", str(settings.comment_id)) is not None
        and body.startswith(text_of.marker(settings.comment_id))
    )
    if not is_ours:
        raise BenchError("the file is not a comment saved by bench", where=str(file), hint=hint)
    return number, body, settings, is_news
