"""JSON over HTTP to a code host, with retries."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
