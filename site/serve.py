"""Serves the folder of a site over HTTP, only to this machine and only its own files."""

from __future__ import annotations

import posixpath
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..schema.errors import BenchError

LOOPBACK = "127.0.0.1"
_OWN = re.compile(rf"(?:{re.escape(LOOPBACK)}|localhost)(?::\d{{1,5}})?")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}


class Pages(SimpleHTTPRequestHandler):
    """Read-only files of the site; requests for another host name are refused."""

    server_version, sys_version = "bench", ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        if self._allowed():
            super().do_GET()

    def do_HEAD(self) -> None:
        if self._allowed():
            super().do_HEAD()

    def _allowed(self) -> bool:
        # DNS rebinding: a foreign name for this address would give its scripts our origin.
        if not all(map(_OWN.fullmatch, self.headers.get_all("Host") or [""])):
            self.send_error(HTTPStatus.FORBIDDEN, "only for this machine")
            return False
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        top = Path(self.directory).resolve()
        hidden = any(part.startswith(".") for part in path.parts[len(Path(self.directory).parts) :])
        if (
            hidden
            or path.suffix not in _TYPES
            or not path.resolve().is_relative_to(top)
            or not path.is_file()
        ):
            self.send_error(HTTPStatus.NOT_FOUND)
            return False
        return True

    def translate_path(self, path: str) -> str:
        inner = posixpath.normpath(unquote(urlsplit(path).path).replace("\0", "\ufffd")).lstrip("/")
        return str(
            Path(
                self.directory, *(part for part in inner.split("/") if part not in ("", ".", ".."))
            )
        )

    def guess_type(self, path: object) -> str:
        return _TYPES.get(Path(str(path)).suffix, "application/octet-stream")

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""


class _Server(ThreadingHTTPServer):
    """A browser that hangs up is no error of ours: it leaves the terminal alone."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing is printed."""


@contextmanager
def serving(folder: Path, port: int) -> Iterator[str]:
    """Serve the folder in the background; yields the URL. Raises BenchError for a used port."""
    try:
        server = _Server((LOOPBACK, port), partial(Pages, directory=str(folder)))
    except (OSError, OverflowError) as error:
        raise BenchError(
            f"cannot serve on port {port}",
            why=str(error),
            hint="another --serve PORT, 0 for any; or --every 60s, which needs none",
        ) from error
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True
    )
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
