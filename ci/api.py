"""The part of GitHub's API that one sticky comment needs."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PAGE = 100
ATTEMPTS, WAIT_S, MOST_PAGES = 3, 1.0, 50


class ApiError(Exception):
    """GitHub did not do what was asked; `status` is 0 when it was not reached."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class GitHubApi:
    """The API of one repository; the token is sent and never shown."""

    url: str
    repository: str
    token: str

    def head_of(self, number: int) -> str:
        """The commit that a pull request ends with."""
        head = self._object("GET", f"pulls/{number}").get("head")
        sha = head.get("sha") if isinstance(head, dict) else None
        if not isinstance(sha, str):
            raise ApiError(0, f"GET pulls/{number}: the answer names no commit")
        return sha

    def upsert(self, number: int, marker: str, body: str, *, create: bool) -> tuple[str, str]:
        """Write the comment that begins with the marker: what was done, and where it is.

        Of comments that begin so, only one that the token may change is ours.
        """
        for comment in self._comments(number):
            text = str(comment.get("body") or "")
            if not text.startswith(marker):
                continue
            url = str(comment.get("html_url") or "")
            if text.replace("\r\n", "\n").strip() == body.strip():
                return "unchanged", url
            try:
                made = self._object("PATCH", f"issues/comments/{comment.get('id')}", {"body": body})
            except ApiError as error:
                user = comment.get("user")
                ours = isinstance(user, dict) and user.get("type") == "Bot"
                if error.status in (403, 404) and not ours:
                    continue  # somebody else has copied our marker
                raise
            return "updated", str(made.get("html_url") or url)
        if not create:
            return "not needed", ""
        made = self._object("POST", f"issues/{number}/comments", {"body": body})
        return "written", str(made.get("html_url") or "")

    def _comments(self, number: int) -> Iterator[dict[str, Any]]:
        for page in range(1, MOST_PAGES + 1):
            path = f"issues/{number}/comments?per_page={PAGE}&page={page}"
            found = self._call("GET", path)
            if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
                raise ApiError(0, f"GET {path}: the answer is no list of comments")
            yield from found
            if len(found) < PAGE:
                return

    def _object(self, method: str, path: str, data: object = None) -> dict[str, Any]:
        made = self._call(method, path, data)
        if not isinstance(made, dict):
            raise ApiError(0, f"{method} {path}: the answer is no object")
        return made

    def _call(self, method: str, path: str, data: object = None) -> Any:  # Any: JSON
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._once(method, path, data)
            except ApiError as error:
                if attempt == ATTEMPTS or not (error.status == 429 or error.status >= 500):
                    raise
                time.sleep(WAIT_S * attempt)
        raise AssertionError("the last attempt returns or raises")

    def _once(self, method: str, path: str, data: object) -> Any:  # Any: JSON
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/repos/{self.repository}/{path}",
            data=None if data is None else json.dumps(data).encode(),
            method=method,
            headers={
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
                "X-GitHub-Api-Version": "2022-11-28",
                "User-Agent": "bench-warehouse",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            raise ApiError(error.code, f"{method} {path}: {error.code} {_said(error)}") from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or repr(error)
            raise ApiError(0, f"{method} {path}: {reason}") from error
        except ValueError as error:
            raise ApiError(0, f"{method} {path}: the answer is not JSON") from error


def _said(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["message"])[:200]
    except (ValueError, KeyError, TypeError, OSError):
        return str(error.reason)
