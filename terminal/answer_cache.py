"""Answers kept in the user's cache: unchanged rows are not asked the same question twice.

An answer is all that a command prints, and its exit code. It follows from the committed state of
the warehouse file, or from the bytes of named documents and of the `facts.toml` above them, and
from the program, `bench.toml`, the options and the terminal: these are its key. Commands that read
anything else (logs, folders, templates, git, a clock) are not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from ..project.facts import NAME as FACTS
from ..project.repository import find_file
from ..project.settings import find_db, read_settings
from ..schema.location import is_shared
from ..schema.write_logs import logs_of
from ..vocabulary import output_recording
from ..vocabulary.package_cache import ANSWER, keep, kept_file, read
from ..vocabulary.regular_files import read_first, read_regular
from . import messages
from .source import Source
from .tables import to_stdout

FRESH = "BENCH_FRESH"  # the variable that has every answer computed
KEPT = 64  # the newest answers, each of at most so many characters
LARGEST = 1 << 18
_HEADERS = 3 * 4096  # bytes of a DuckDB file that number its checkpoints
# What reads, computes and writes; pandas is for notebooks alone.
_LIBRARIES = ("duckdb", "jinja2", "markdown_it", "numpy", "pyarrow", "scipy")
# Files that are read for themselves, whatever lies beside them.
_DOCUMENTS = (".md", ".markdown", ".mdx", ".rst", ".tex")
# Options that name files to be read or written.
_OF_FILES = ("templates", "update", "check", "sources", "output")


def answer(function: Callable[..., None], given: Mapping[str, Any]) -> None:
    """Print the kept answer of a command to these options, else run it and keep what it prints.

    Errors are those of the command; they are not kept.
    """
    name = function.__name__
    known = key(name, given)
    if known is None:
        function(**given)
        return
    if (kept := _kept(known)) is None:
        code, made = _recorded(function, given)
        if made.of_rows and not _names_files() and key(name, given) == known:
            _keep(known, code, made)
    else:
        code = kept["code"]
        for stream, text in kept["printed"]:
            to_stdout(text) if stream == "stdout" else messages.to_stderr(text)
    raise typer.Exit(code)


def _names_files() -> bool:
    """Whether `bench.toml` names files that are read besides."""
    settings = read_settings()
    return bool(settings.templates or settings.formats or settings.facts)


def _recorded(
    function: Callable[..., None], given: Mapping[str, Any]
) -> tuple[int, output_recording.Recording]:
    """Run a command; its exit code, and what it has printed."""
    made, code = output_recording.Recording(), 0
    output_recording.current.append(made)
    try:
        function(**given)
    except typer.Exit as done:
        code = done.exit_code
    finally:
        output_recording.current.remove(made)
    return code, made


def key(name: str, given: Mapping[str, Any]) -> str | None:
    """A digest of all that an answer follows from; None if something cannot be in it."""
    source = given["source"]
    try:
        sources = None if _is_elsewhere(source, given) else _sources(source, given)
        if sources is None:
            return None
        settings = find_file(Path.cwd())
        whole = (
            name, sorted(given.items()), os.getcwd(), sources, _program(), _terminal(),
            settings and (str(settings), _digest(settings)),
        )  # fmt: skip
    except OSError:  # no file, or none that may be read whole: the command says so
        return None
    return hashlib.sha256(repr(whole).encode("utf-8", "backslashreplace")).hexdigest()


def _is_elsewhere(source: Source, given: Mapping[str, Any]) -> bool:
    """Whether the command reads an earlier time, reads or writes other files, or tells times; or
    the user wants no kept answer."""
    query = given.get("query")
    return (
        bool(os.environ.get(FRESH))
        or source.is_past
        or messages.volume.verbose
        or any(given.get(name) for name in _OF_FILES)
        or (query is not None and (query.table or query.since) is not None)
    )


def _sources(source: Source, given: Mapping[str, Any]) -> object:
    """What the rows are made of; None where that is more than can be looked at."""
    words = [*source.paths, *map(Path, given.get("arguments") or ())]
    named = [word for word in words if os.path.lexists(word)]
    if not all(word in named or str(word).isidentifier() for word in words):
        return None  # patterns, addresses, conditions
    if not all(map(_is_document, named)):
        return None
    documents = [_document(path) for path in named]
    if named and named == words:
        return documents
    db = find_db(source.db)  # other words may be runs of the warehouse
    state = None if is_shared(db) else _state(db)
    return state and (documents, str(db), state)


def _is_document(path: Path) -> bool:
    return path.suffix in _DOCUMENTS and path.is_file()


def _document(path: Path) -> object:
    """A document, and every `facts.toml` that may speak of it."""
    above = {*path.absolute().parents, *path.resolve().parents, *Path.cwd().parents, Path.cwd()}
    facts = [(str(file), _digest(file)) for folder in sorted(above)
             if (file := folder / FACTS).is_file()]  # fmt: skip
    return str(path), str(path.resolve()), _digest(path), facts


def _digest(file: Path) -> str:
    return hashlib.sha256(read_regular(file)).hexdigest()


def _state(db: Path) -> str | None:
    """The committed state of a file, or None while writes wait beside it; raises OSError."""
    if any(map(os.path.lexists, logs_of(db))):
        return None
    headers = hashlib.sha256(read_first(db, _HEADERS)).hexdigest()
    return f"{headers} {_stamp(db.stat())}"


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _program() -> object:
    """The versions of what computes an answer: our files, libraries, Python."""
    root = Path(__file__).parent.parent
    rooms = [entry for entry in os.scandir(root) if os.path.exists(f"{entry.path}/__init__.py")]
    files = sorted(file for room in rooms for file in files_of(room.path))
    specs = [find_spec(name) for name in _LIBRARIES]
    libraries = [_stamp(os.stat(spec.origin)) for spec in specs if spec and spec.origin]
    return sys.version, libraries, files


def files_of(folder: str) -> list[tuple[str, tuple[int, ...]]]:
    """All files below a folder of the package but bytecode, with what the system says of each."""
    found: list[tuple[str, tuple[int, ...]]] = []
    for entry in os.scandir(folder):
        if not entry.is_dir(follow_symlinks=False):
            found.append((entry.path, _stamp(entry.stat())))
        elif entry.name != "__pycache__":
            found += files_of(entry.path)
    return found


def _terminal() -> object:
    """What the form of the output depends on, beside the options."""
    streams = (sys.stdout.isatty(), sys.stderr.isatty(), sys.stderr.encoding)
    variables = [os.environ.get(name) for name in ("NO_COLOR", "TERM", "TZ")]
    return streams, shutil.get_terminal_size(), variables, messages.volume.quiet


def _kept(key: str) -> Any | None:  # Any: the values of `_keep`
    """The kept answer of a key; None without an intact one."""
    with suppress(OSError, RuntimeError, ValueError):
        digest, _, content = read(_file(key)).partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() == digest:
            found = json.loads(content)
            return found if found["key"] == key else None
    return None


def _keep(key: str, code: int, made: output_recording.Recording) -> None:
    content = json.dumps({"key": key, "code": code, "printed": made.printed}).encode()
    if len(content) <= LARGEST:
        digest = hashlib.sha256(content).hexdigest().encode()
        with suppress(OSError, RuntimeError):
            keep(_file(key), digest + b"\n" + content, KEPT)


def _file(key: str) -> Path:
    return kept_file(ANSWER, key, ".json")
