"""Where the warehouse and the user's templates lie: flag, environment, `bench.toml`, default."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import BenchError

if TYPE_CHECKING:
    from tomllib import TOMLDecodeError
from .messages import did_you_mean

FILE = "bench.toml"
DEFAULT_DB = "bench.duckdb"


@dataclass(frozen=True)
class Settings:
    """What `bench.toml` says; paths are absolute, None where it is silent or there is no file."""

    file: Path | None = None
    db: Path | None = None
    templates: Path | None = None


KEYS = ("db", "templates")


def find_db(flag: Path | None, cwd: Path | None = None) -> Path:
    """The warehouse: `--db`, else BENCH_DB, else `bench.toml`, else `./bench.duckdb`."""
    here = cwd or Path.cwd()
    named = flag or os.environ.get("BENCH_DB") or read_settings(here).db or DEFAULT_DB
    return here / Path(named).expanduser()


def find_templates(flag: Path | None, cwd: Path | None = None) -> Path | None:
    """The folder of the user's own templates: `--templates`, else `bench.toml`, else none."""
    here = cwd or Path.cwd()
    named = flag or read_settings(here).templates
    return here / named.expanduser() if named else None


def read_settings(cwd: Path | None = None) -> Settings:
    """The nearest `bench.toml` at or above `cwd`, up to the root of its git checkout."""
    file = find_file(cwd or Path.cwd())
    return _parse(file) if file else Settings()


def find_file(cwd: Path) -> Path | None:
    """The nearest `bench.toml`, not looking above a folder that holds `.git`."""
    for folder in (cwd.absolute(), *cwd.absolute().parents):
        if (folder / FILE).is_file():
            return folder / FILE
        if (folder / ".git").exists():
            return None
    return None


def _parse(file: Path) -> Settings:
    import tomllib  # few have the file: a command without one need not wait for its reader

    text = _read(file)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BenchError(
            f"{FILE} is not valid TOML",
            why=str(error),
            where=_place(file, error),
            hint='a setting is a line such as db = "bench.duckdb"',
        ) from error
    paths = {key: _path(file, text, key, value) for key, value in values.items()}
    return Settings(file=file, **paths)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BenchError(f"{FILE} is not UTF-8", why=str(error), where=str(file)) from error
    except OSError as error:
        why = error.strerror or str(error)
        raise BenchError(f"{FILE} cannot be read", why=why, where=str(file)) from error


def _path(file: Path, text: str, key: str, value: object) -> Path:
    where = f"{file}:{_line(text, key)}"
    if key not in KEYS:
        raise BenchError(
            f"unknown setting {key!r} in {FILE}", where=where, hint=did_you_mean(key, KEYS)
        )
    if not isinstance(value, str) or not value:
        raise BenchError(
            f"setting {key!r} in {FILE} is not a path",
            why=f"it is {value!r}",
            where=where,
            hint=f'{key} = "PATH", relative to {FILE}',
        )
    return file.parent / Path(value).expanduser()


def _line(text: str, key: str) -> int:
    wanted = re.compile(rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[=.\]]""")
    return next((n for n, line in enumerate(text.splitlines(), 1) if wanted.match(line)), 1)


def _place(file: Path, error: TOMLDecodeError) -> str:
    # Python says the line in the message only, and "end of document" for a file that stops short.
    found = re.search(r"at line (\d+)", str(error))
    return f"{file}:{found[1]}" if found else f"{file}, at its end"
