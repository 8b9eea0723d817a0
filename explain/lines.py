"""The text of a source's lines, as its file has them now."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from pathlib import Path

from ..audit.places import column_of
from ..ingest.packed import packing, unpacked
from ..ingest.secrets import redact_text
from ..schema.warehouse import Warehouse


@dataclass(slots=True)
class Lines:
    """Reads sources below `root`; a file that is gone or has changed gives no text."""

    warehouse: Warehouse
    root: Path
    _texts: dict[str, list[str]] = field(default_factory=dict)
    _states: dict[str, str] = field(default_factory=dict)

    def text(self, uri: str, line: int | None) -> str:
        """A line without secrets; '' when it is not at hand."""
        lines = self._read(uri)
        return redact_text(lines[line - 1].strip()) if line and 0 < line <= len(lines) else ""

    def begins(self, uri: str, line: int) -> int | None:
        """The first character of a line's text, from 1: where findings on all of it stand."""
        lines = self._read(uri)
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        return len(text) - len(text.lstrip()) + 1 if text.strip() else None

    def column(self, uri: str, line: int, number: int, raw: str) -> int | None:
        """The first character of the n-th cell of a line, from 1."""
        lines = self._read(uri)
        return column_of(lines[line - 1], number, raw) if 0 < line <= len(lines) else None

    def state(self, uri: str) -> str:
        """Why the text of a source is not at hand; '' when it is."""
        self._read(uri)
        return self._states[uri]

    def _read(self, uri: str) -> list[str]:
        if uri not in self._texts:
            self._texts[uri], self._states[uri] = self._open(uri)
        return self._texts[uri]

    def _open(self, uri: str) -> tuple[list[str], str]:
        try:
            data = (self.root / uri).read_bytes()
        except OSError as error:
            return [], f"{uri} cannot be read here: {error.strerror or error}"
        how = packing(data[:16])
        if how is not None:
            data = unpacked(io.BytesIO(data), how, len(data)).read()
        query = "SELECT sha256, to_byte FROM current_uris WHERE uri = ?"
        for sha256, size in self.warehouse.rows(query, [uri]):
            if hashlib.sha256(data[:size]).hexdigest() != sha256:
                return [], f"{uri} has changed since it was read"
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        return [line.removesuffix("\r") for line in text.split("\n")], ""
