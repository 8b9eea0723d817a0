"""One comment per pull or merge request, found by a hidden marker, on GitHub and GitLab:
JSON over HTTP, with retries."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

PAGE, MOST_PAGES = 100, 50


@dataclass(frozen=True, slots=True)
class Comment:
    """An existing comment; `author` is an account name."""

    id: object
    body: str
    url: str
    author: str
    is_bot: bool


class Host(Protocol):
    """Access to the comments of a request on a code host; each call may raise ApiError."""

    def me(self) -> str | None:
        """The token's account; None for an app, which may not query it."""

    def comments(self, number: int) -> Iterator[Comment]:
        """All comments, oldest first."""

    def write(self, number: int, body: str) -> Comment:
        """Create a comment."""

    def change(self, number: int, comment: Comment, body: str) -> Comment:
        """Replace a comment's text."""


def upsert(host: Host, number: int, marker: str, body: str, *, create: bool) -> tuple[str, str]:
    """Create or update the comment that begins with the marker; returns the action and its URL.

    A comment of another author with a copied marker is left alone, even if the token may edit it.
    Raises ApiError.
    """
    me = host.me()
    for comment in host.comments(number):
        is_ours = comment.author == me if me else comment.is_bot
        if not (is_ours and comment.body.startswith(marker)):
            continue
        if comment.body.replace("\r\n", "\n").strip() == body.strip():
            return "unchanged", comment.url
        return "updated", host.change(number, comment, body).url or comment.url
    if not create:
        return "not needed", ""
    return "written", host.write(number, body).url


@dataclass(frozen=True, slots=True)
class GitHub:
    """The comments of a repository's pull requests, by GitHub's REST API."""

    api: Api
    path: str

    @classmethod
    def of(cls, url: str, repository: str, token: str) -> GitHub:
        """GitHub at its API's URL, for OWNER/NAME."""
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        return cls(Api(url, headers), f"repos/{repository}")

    def me(self) -> str | None:
        try:
            return str(self.api.one("GET", "user").get("login") or "") or None
        except ApiError as error:
            if error.status in (401, 403):  # a job's token belongs to an app
                return None
            raise

    def head_of(self, number: int) -> str:
        """The head commit of a pull request; raises ApiError."""
        head = self.api.one("GET", f"{self.path}/pulls/{number}").get("head")
        sha = head.get("sha") if isinstance(head, dict) else None
        if not isinstance(sha, str):
            raise ApiError(0, f"GET pulls/{number}: response has no commit")
        return sha

    def comments(self, number: int) -> Iterator[Comment]:
        return map(self._comment, _pages(self.api, f"{self.path}/issues/{number}/comments?"))

    def write(self, number: int, body: str) -> Comment:
        made = self.api.one("POST", f"{self.path}/issues/{number}/comments", {"body": body})
        return self._comment(made)

    def change(self, number: int, comment: Comment, body: str) -> Comment:
        made = self.api.one("PATCH", f"{self.path}/issues/comments/{comment.id}", {"body": body})
        return self._comment(made)

    @staticmethod
    def _comment(found: dict[str, Any]) -> Comment:
        user = found.get("user")
        user = user if isinstance(user, dict) else {}
        url, text = str(found.get("html_url") or ""), str(found.get("body") or "")
        author = str(user.get("login") or "")
        return Comment(found.get("id"), text, url, author, user.get("type") == "Bot")


@dataclass(frozen=True, slots=True)
class GitLab:
    """The notes of a project's merge requests, by GitLab's REST API, version 4."""

    api: Api
    path: str
    page: str

    @classmethod
    def of(cls, url: str, project: str, token: str, page: str) -> GitLab:
        """GitLab at its API's URL, for a project's number; `page` is the URL of the request."""
        return cls(Api(url, {"PRIVATE-TOKEN": token}), f"projects/{project}", page)

    def me(self) -> str | None:
        return str(self.api.one("GET", "user").get("username") or "") or None

    def comments(self, number: int) -> Iterator[Comment]:
        path = f"{self.path}/merge_requests/{number}/notes?sort=asc&order_by=created_at&"
        notes = (note for note in _pages(self.api, path) if not note.get("system"))
        return (self._comment(number, note) for note in notes)

    def write(self, number: int, body: str) -> Comment:
        made = self.api.one("POST", f"{self.path}/merge_requests/{number}/notes", {"body": body})
        return self._comment(number, made)

    def change(self, number: int, comment: Comment, body: str) -> Comment:
        path = f"{self.path}/merge_requests/{number}/notes/{comment.id}"
        return self._comment(number, self.api.one("PUT", path, {"body": body}))

    def _comment(self, number: int, found: dict[str, Any]) -> Comment:
        where = f"{self.page}/-/merge_requests/{number}#note_{found.get('id')}"
        author = found.get("author")
        name = str(author.get("username") or "") if isinstance(author, dict) else ""
        return Comment(found.get("id"), str(found.get("body") or ""), where, name, is_bot=False)


def _pages(api: Api, path: str) -> Iterator[dict[str, Any]]:
    for page in range(1, MOST_PAGES + 1):
        found = api.many(f"{path}per_page={PAGE}&page={page}")
        yield from found
        if len(found) < PAGE:
            return


ATTEMPTS, WAIT_S = 3, 1.0


class ApiError(Exception):
    """The request failed; `status` is 0 when the host was not reached."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Api:
    """An API under a base URL; its headers hold the token and are never printed."""

    url: str
    headers: Mapping[str, str] = field(repr=False)

    def many(self, path: str) -> list[dict[str, Any]]:
        """The list of objects that a GET returns; raises ApiError for anything else."""
        found = self._call("GET", path)
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise ApiError(0, f"GET {path}: response is not a list of objects")
        return found

    def one(self, method: str, path: str, data: object = None) -> dict[str, Any]:
        """The object that a call returns; raises ApiError for anything else."""
        made = self._call(method, path, data)
        if not isinstance(made, dict):
            raise ApiError(0, f"{method} {path}: response is not an object")
        return made

    def _call(self, method: str, path: str, data: object = None) -> Any:  # Any: JSON
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._request(method, path, data)
            except ApiError as error:
                # A failed POST may have been executed: a retry could write a second comment.
                is_safe = error.status == 429 or (error.status >= 500 and method != "POST")
                if attempt == ATTEMPTS or not is_safe:
                    raise
                time.sleep(WAIT_S * attempt)
        raise AssertionError("the last attempt returns or raises")

    def _request(self, method: str, path: str, data: object) -> Any:  # Any: JSON
        url = f"{self.url.rstrip('/')}/{path}"
        content = None if data is None else json.dumps(data).encode()
        fixed = {"Content-Type": "application/json", "User-Agent": "bench-warehouse"}
        try:
            request = urllib.request.Request(url, content, {**fixed, **self.headers}, method=method)
        except ValueError as error:
            raise ApiError(0, f"{method} {path}: invalid URL {self.url!r}") from error
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            raise ApiError(
                error.code, f"{method} {path}: {error.code} {_error_message(error)}"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or repr(error)
            raise ApiError(0, f"{method} {path}: {reason}") from error
        except ValueError as error:
            raise ApiError(0, f"{method} {path}: response is not JSON") from error


def _error_message(error: urllib.error.HTTPError) -> str:
    try:
        content_of = json.loads(error.read())
        return str(content_of.get("message") or content_of["error"])[:200]
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return str(error.reason)
