"""One comment of a pull or merge request, found again by a hidden marker: on GitHub, on GitLab."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from .api import Api, ApiError

PAGE, MOST_PAGES = 100, 50


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment as it stands; `is_bot`: written by a token such as ours."""

    id: object
    body: str
    url: str
    is_bot: bool


class Host(Protocol):
    """What a code host lets us do with the comments of a request."""

    def comments(self, number: int) -> Iterator[Comment]:
        """Every comment, the oldest first."""

    def write(self, number: int, body: str) -> Comment:
        """A new one."""

    def change(self, number: int, comment: Comment, body: str) -> Comment:
        """Another text of one."""


def upsert(host: Host, number: int, marker: str, body: str, *, create: bool) -> tuple[str, str]:
    """Write the comment that begins with the marker: what was done, and where it is.

    Of comments that begin so, only one that the token may change is ours. Raises ApiError.
    """
    for comment in host.comments(number):
        if not comment.body.startswith(marker):
            continue
        if comment.body.replace("\r\n", "\n").strip() == body.strip():
            return "unchanged", comment.url
        try:
            made = host.change(number, comment, body)
        except ApiError as error:
            if error.status in (403, 404) and not comment.is_bot:
                continue  # somebody else has copied our marker
            raise
        return "updated", made.url or comment.url
    if not create:
        return "not needed", ""
    return "written", host.write(number, body).url


@dataclass(frozen=True, slots=True)
class GitHub:
    """The comments of a repository's pull requests, by GitHub's REST API."""

    api: Api

    @classmethod
    def of(cls, url: str, repository: str, token: str) -> GitHub:
        """GitHub at its API's URL, for OWNER/NAME."""
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        return cls(Api(f"{url.rstrip('/')}/repos/{repository}", headers))

    def head_of(self, number: int) -> str:
        """The commit that a pull request ends with; raises ApiError."""
        head = self.api.one("GET", f"pulls/{number}").get("head")
        sha = head.get("sha") if isinstance(head, dict) else None
        if not isinstance(sha, str):
            raise ApiError(0, f"GET pulls/{number}: the answer names no commit")
        return sha

    def comments(self, number: int) -> Iterator[Comment]:
        return map(self._comment, _pages(self.api, f"issues/{number}/comments?"))

    def write(self, number: int, body: str) -> Comment:
        made = self.api.one("POST", f"issues/{number}/comments", {"body": body})
        return self._comment(made)

    def change(self, number: int, comment: Comment, body: str) -> Comment:
        made = self.api.one("PATCH", f"issues/comments/{comment.id}", {"body": body})
        return self._comment(made)

    @staticmethod
    def _comment(found: dict[str, Any]) -> Comment:
        user = found.get("user")
        is_bot = isinstance(user, dict) and user.get("type") == "Bot"
        url = str(found.get("html_url") or "")
        return Comment(found.get("id"), str(found.get("body") or ""), url, is_bot)


@dataclass(frozen=True, slots=True)
class GitLab:
    """The notes of a project's merge requests, by GitLab's REST API, version 4."""

    api: Api
    page: str

    @classmethod
    def of(cls, url: str, project: str, token: str, page: str) -> GitLab:
        """GitLab at its API's URL, for a project's number; `page` is where people see it."""
        return cls(Api(f"{url.rstrip('/')}/projects/{project}", {"PRIVATE-TOKEN": token}), page)

    def comments(self, number: int) -> Iterator[Comment]:
        path = f"merge_requests/{number}/notes?sort=asc&order_by=created_at&"
        notes = (note for note in _pages(self.api, path) if not note.get("system"))
        return (self._comment(number, note) for note in notes)

    def write(self, number: int, body: str) -> Comment:
        made = self.api.one("POST", f"merge_requests/{number}/notes", {"body": body})
        return self._comment(number, made)

    def change(self, number: int, comment: Comment, body: str) -> Comment:
        path = f"merge_requests/{number}/notes/{comment.id}"
        return self._comment(number, self.api.one("PUT", path, {"body": body}))

    def _comment(self, number: int, found: dict[str, Any]) -> Comment:
        where = f"{self.page}/-/merge_requests/{number}#note_{found.get('id')}"
        # Whether a token or a person wrote a note is not told.
        return Comment(found.get("id"), str(found.get("body") or ""), where, is_bot=False)


def _pages(api: Api, path: str) -> Iterator[dict[str, Any]]:
    for page in range(1, MOST_PAGES + 1):
        found = api.many(f"{path}per_page={PAGE}&page={page}")
        yield from found
        if len(found) < PAGE:
            return
