"""A cache of our templates as compiled by Jinja, between processes: compiling those of a page takes
longer than rendering them."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from ..vocabulary.package_cache import keep, kept_file, read

_COMPILER = ("jinja2.compiler", "jinja2.nodes", "jinja2.optimizer", "jinja2.bccache")
_DIGEST = 32  # bytes, before the code


class Compiled(jinja2.BytecodeCache):
    """The cache of an environment with the templates and filters of a folder.

    Without a writable cache it does nothing: no error is raised.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load the code of a template, if this version has stored it, and it is complete."""
        with suppress(OSError, RuntimeError):
            content = read(self._file(bucket))
            # Truncated code may crash the interpreter: marshal trusts its input.
            if content[:_DIGEST] == _digest(content[_DIGEST:]):
                bucket.bytecode_from_string(content[_DIGEST:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store the code of a template."""
        with suppress(OSError, RuntimeError):
            code = bucket.bytecode_to_string()
            keep(self._file(bucket), _digest(code) + code)

    def _file(self, bucket: Bucket) -> Path:
        return kept_file(f"template_{bucket.key}", _version(self._folder), ".code")


def _digest(code: bytes) -> bytes:
    return hashlib.sha256(code).digest()


@cache
def _version(folder: Path) -> str:
    """The key of compiled code in addition to its template: the compiler, and the filters, whose
    results on constants it includes."""
    found = (find_spec(name) for name in _COMPILER)
    compiler = [Path(spec.origin) for spec in found if spec and spec.origin]
    digest = hashlib.sha256()
    words = folder.parent / "vocabulary"
    for path in (*compiler, *sorted(folder.rglob("*.py")), *sorted(words.glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()
