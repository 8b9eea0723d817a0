"""`bench ci gitlab`: check, diff, annotate lines, update one note on a merge request."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..project.settings import JobSettings, read_settings
from ..terminal.messages import info, warn
from ..terminal.tables import emit
from ..vocabulary.printable import json_text
from .review import Annotation, annotations_of, review, update_comment
from .sticky import ApiError, GitLab

TOKEN = "BENCH_GITLAB_TOKEN"  # the job's own token may not write notes
# https://docs.gitlab.com/ci/testing/code_quality/: info, minor, major, critical, blocker
_SEVERITY = {"error": "major", "notice": "info"}


@dataclass(frozen=True, slots=True)
class PipelineJob:
    """A job's settings in GitLab's environment variables."""

    api: str
    project: str
    request: int | None
    base: str
    page: str
    is_of_fork: bool
    token: str = field(repr=False)


def read_job(environment: Mapping[str, str]) -> PipelineJob:
    """Read the job from its environment."""
    number = environment.get("CI_MERGE_REQUEST_IID", "")
    return PipelineJob(
        environment.get("CI_API_V4_URL", ""),
        environment.get("CI_PROJECT_ID", ""),
        int(number) if number.isdecimal() else None,
        environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", ""),
        environment.get("CI_PROJECT_URL", ""),
        environment.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
        != environment.get("CI_MERGE_REQUEST_PROJECT_ID"),
        environment.get(TOKEN, "").strip(),
    )


def gitlab(
    named: Sequence[Path],
    base: str | None,
    quality: Path | None,
    timeout: float,
    fork_templates: bool,
) -> int:
    """Check, diff, and comment; `quality` is the file of the code quality report."""
    job = read_job(os.environ)
    settings = read_settings().gitlab
    history = 'set the variable GIT_DEPTH: "0"'
    own_templates = fork_templates or not job.is_of_fork
    reviewed = review(named, base or job.base, settings, timeout, history, own_templates)
    found_annotations = list(annotations_of(reviewed))
    for annotation in found_annotations:
        info(f"{annotation.file}:{annotation.line}: {annotation.title}: {annotation.message}")
    if quality:
        report = [_entry(annotation) for annotation in found_annotations]
        emit(json_text(report, indent=1) + "\n", quality)
    _note(job, settings, reviewed.body, reviewed.is_news)
    return reviewed.code(settings)


def _entry(annotation: Annotation) -> dict[str, Any]:
    same = f"{annotation.file}\0{annotation.line}\0{annotation.title}\0{annotation.message}"
    return {
        "description": f"{annotation.title}: {annotation.message}",
        "check_name": f"bench {annotation.title}",
        "fingerprint": hashlib.sha256(same.encode("utf-8", "surrogateescape")).hexdigest()[:32],
        "severity": _SEVERITY[annotation.level],
        "location": {"path": annotation.file, "lines": {"begin": annotation.line}},
    }


def _note(job: PipelineJob, settings: JobSettings, body: str, is_news: bool) -> None:
    """Write the note, or say why it cannot be written; never fails the job."""
    if settings.comment == "never" or job.request is None:
        info(
            "comment: disabled in bench.toml"
            if job.request
            else "comment: skipped, not a merge request"
        )
        return
    missing = {TOKEN: job.token, "CI_API_V4_URL": job.api, "CI_PROJECT_ID": job.project}
    if names := [name for name, value in missing.items() if not value]:
        info(f"comment: not written, {', '.join(names)} is not set (docs/pull_requests.md)")
        return
    host = GitLab.of(job.api, job.project, job.token, job.page)
    rest = "Run `bench diff` for all rows."
    try:
        update_comment(host, settings, body, job.request, is_news=is_news, rest=rest)
    except ApiError as error:
        warn(f"comment not written: {' '.join(str(error).split())}")
