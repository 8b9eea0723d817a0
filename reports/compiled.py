"""Our templates as Jinja compiled them, kept between processes: to compile those of a page takes
longer than to fill them."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from ..vocabulary.kept import keep, kept_file, read

_COMPILER = ("jinja2.compiler", "jinja2.nodes", "jinja2.optimizer", "jinja2.bccache")
_DIGEST = 32  # bytes, before the code


class Compiled(jinja2.BytecodeCache):
    """The cache of an environment whose templates and filters are the files of a folder.

    Where nothing can be kept it is spared: nothing is raised.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """The code of a template, if this version has kept it, and it is whole."""
        with suppress(OSError, RuntimeError):
            content = read(self._file(bucket))
            # What was cut short may end the interpreter: marshal trusts what it is given.
            if content[:_DIGEST] == _digest(content[_DIGEST:]):
                bucket.bytecode_from_string(content[_DIGEST:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a template."""
        with suppress(OSError, RuntimeError):
            code = bucket.bytecode_to_string()
            keep(self._file(bucket), _digest(code) + code)

    def _file(self, bucket: Bucket) -> Path:
        return kept_file(f"template_{bucket.key}", _version(self._folder), ".code")


def _digest(code: bytes) -> bytes:
    return hashlib.sha256(code).digest()


@cache
def _version(folder: Path) -> str:
    """What the code hangs on beside its template: the compiler, and the filters, whose answers to
    constants it holds."""
    found = (find_spec(name) for name in _COMPILER)
    compiler = [Path(spec.origin) for spec in found if spec and spec.origin]
    digest = hashlib.sha256()
    words = folder.parent / "vocabulary"
    for path in (*compiler, *sorted(folder.rglob("*.py")), *sorted(words.glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()
