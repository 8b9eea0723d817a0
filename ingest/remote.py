"""Files on other machines and in object stores, by fsspec and the backends that a user has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from ..schema.errors import BenchError
from .names import is_candidate

# `Path` makes one slash of two.
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+):/{1,3}(?P<rest>.*)", re.S)
_MAGIC = re.compile(r"[*?\[]")


def remote_url(path: Path) -> str | None:
    """The URL that a path was written as, `s3://bucket/logs`; None for a path of this machine."""
    found = _URL.fullmatch(str(path))
    if found is None or path.exists():
        return None
    slashes = ":///" if found["scheme"] == "file" else "://"
    return f"{found['scheme']}{slashes}{found['rest']}"


def fetched(url: str, scratch: Path) -> Iterator[tuple[Path, str]]:
    """Each file that a URL, a folder or a pattern names, in `scratch` until the next one.

    Names are URLs without user, password and query. Raises BenchError without fsspec or a backend
    for the scheme, OSError for what cannot be fetched.
    """
    system, asked = _system(url)
    base = _MAGIC.split(asked)[0].rpartition("/")[0] if _MAGIC.search(asked) else asked
    shown = _without_secrets(url)
    shown = _MAGIC.split(shown)[0].rpartition("/")[0] if _MAGIC.search(shown) else shown
    for name in _files(system, asked):
        rest = name.removeprefix(base).lstrip("/")
        suffix = PurePosixPath(name).suffix
        path = scratch / f"fetched{suffix if re.fullmatch(r'[.][A-Za-z0-9]+', suffix) else ''}"
        system.get_file(name, str(path))
        yield path, f"{shown.rstrip('/')}/{rest}" if rest else shown
        path.unlink()


def _system(url: str) -> tuple[Any, str]:  # Any: fsspec ships no types
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise BenchError(f"cannot fetch {_without_secrets(url)}", why="fsspec is not installed",
                         hint="pip install fsspec, and the backend of the scheme: s3fs, gcsfs, ..."
                         ) from error  # fmt: skip
    try:
        found: tuple[Any, str] = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise BenchError(f"cannot fetch {_without_secrets(url)}", why=str(error),
                         hint="install the backend of the scheme") from error  # fmt: skip
    return found


def _files(system: Any, asked: str) -> list[str]:  # Any: fsspec ships no types
    if _MAGIC.search(asked):
        found = [name for name in system.glob(asked) if not system.isdir(name)]
    elif system.isdir(asked):
        found = [name for name in system.find(asked) if is_candidate(name)]
    else:
        return [asked]
    if not found:
        raise FileNotFoundError(f"no file at {asked}")
    return sorted(map(str, found))


def _without_secrets(url: str) -> str:
    from urllib.parse import urlsplit  # few files are remote

    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"
