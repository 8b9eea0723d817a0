"""A small server on 127.0.0.1 with the part of GitHub's and GitLab's API that is needed."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

TOKEN = "ghs_" + "x" * 36
NOTES = "/api/v4/projects/12/merge_requests/7/notes"


@dataclass
class Hub:
    """What the server holds and has been asked."""

    url: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    head: str = "abc"
    me: str = ""  # the account that GitHub's token stands for; none: an app
    fail: list[int] = field(default_factory=list)  # the next answers
    raw: bytes = b""  # sent instead of any answer
    asked: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)


@contextmanager
def serve() -> Iterator[Hub]:
    """The server, for as long as it is needed."""
    state = Hub()

    class Handler(BaseHTTPRequestHandler):
        def answer(self, status: int, data: object) -> None:
            body = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def work(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            sent = json.loads(self.rfile.read(length)) if length else {}
            if self.path == "/user":  # as for the token of a job, unless a person's is used
                return self.answer(200 if state.me else 403, {"login": state.me})
            if self.path == "/api/v4/user":
                return self.answer(200, {"username": "bot"})
            state.asked.append(f"{self.command} {self.path}")
            if state.raw:
                self.wfile.write(state.raw)
                return None
            told = self.headers["PRIVATE-TOKEN"] or self.headers["Authorization"]
            if told not in (TOKEN, f"Bearer {TOKEN}"):
                return self.answer(401, {"message": "Bad credentials"})
            if state.fail:
                return self.answer(state.fail.pop(0), {"message": "told so\n::error::x"})
            if len(sent.get("body", "")) > 65_536:
                return self.answer(422, {"message": "Body is too long"})
            if found := re.fullmatch(r"/repos/o/r/pulls/7", self.path):
                return self.answer(200, {"head": {"sha": state.head}})
            listed = r"/repos/o/r/issues/7/comments(?:\?per_page=(\d+)&page=(\d+))?"
            if found := re.fullmatch(listed, self.path):
                if self.command == "GET":
                    size, page = int(found[1]), int(found[2])
                    return self.answer(200, state.comments[(page - 1) * size : page * size])
                user = {"type": "User" if state.me else "Bot", "login": state.me or "app[bot]"}
                made = {"id": len(state.comments) + 1, "user": user, **sent}
                made["html_url"] = f"{state.url}/c/{made['id']}"
                state.comments.append(made)
                state.bodies.append(sent["body"])
                return self.answer(201, made)
            if found := re.fullmatch(r"/repos/o/r/issues/comments/(\d+)", self.path):
                comment = state.comments[int(found[1]) - 1]
                comment.update(sent)
                state.bodies.append(sent["body"])
                return self.answer(200, comment)
            if found := re.fullmatch(rf"{NOTES}(?:/(\d+))?(?:\?(.*))?", self.path):
                return self.notes(sent, found[1], found[2] or "")
            return self.answer(404, {"message": "Not Found"})

        def notes(self, sent: dict[str, Any], note: str | None, query: str) -> None:
            """GitLab's notes: PUT changes one's own, 100 a page at most."""
            asked = {name: values[0] for name, values in parse_qs(query).items()}
            if self.command == "GET" and not note:
                size, page = int(asked["per_page"]), int(asked["page"])
                assert asked["sort"] == "asc" and size <= 100
                return self.answer(200, state.comments[(page - 1) * size : page * size])
            if self.command == "POST" and not note:
                author = {"username": "bot"}
                made = {"id": len(state.comments) + 1, "system": False, "author": author, **sent}
                state.comments.append(made)
            elif self.command == "PUT" and note:
                made = state.comments[int(note) - 1]
                made.update(sent)
            else:
                return self.answer(405, {"error": "405 Method Not Allowed"})
            state.bodies.append(sent["body"])
            return self.answer(200 if note else 201, made)

        do_GET = do_POST = do_PATCH = do_PUT = work

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
