"""Warehouse texts on pages: scrubbed, truncated, with invisible characters made visible."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from html import escape as _escape
from typing import Any

from markupsafe import Markup

from ..project.short_names import ShortNames
from ..records.scrub import Scrubber, keyed_id
from ..vocabulary.printable import CONTROL, INVISIBLE, json_text, plain, visible

LONGEST = 400  # default maximum of characters of a text
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_SLUG = re.compile(r"[^0-9A-Za-z.-]+")
_LINE_BREAKS = str.maketrans("\r\n\t\u2028\u2029", "     ")


class Text:
    """The filter of every text from a warehouse; none of it is markup."""

    def __init__(self, kinds: Iterable[str] = ()) -> None:
        self.scrubber = Scrubber(kinds)
        self.scrubs = bool(self.scrubber.kinds)

    @property
    def scrubbed_digest(self) -> str:
        """A digest of the names that are scrubbed everywhere."""
        return digest(repr(sorted(self.scrubber.known.items())))

    def line(self, value: object, most: int = LONGEST) -> str:
        """One line of plain text, not escaped: truncated, with the number of further characters."""
        text = str(value)
        # Nearly every text needs no replacement.
        if (
            not self.scrubs
            and len(text) <= most
            and text.isprintable()
            and (text.isascii() or INVISIBLE.isdisjoint(text))
        ):
            return text
        rest = len(text) - most
        if rest > 0:
            text = text[:most]
        text = text.translate(_LINE_BREAKS)
        if self.scrubs:
            text = self.scrubber.text(text)
        return visible(text) + (f"… ({rest:,} more characters)" if rest > 0 else "")

    def html(self, value: object, most: int = LONGEST) -> Markup:
        """The line escaped for HTML text or a quoted attribute."""
        return Markup(_escape(self.line(value, most)))

    def named(self, name: str, value: object) -> str:
        """The value of a setting, scrubbed if its name is that of a host or a user."""
        text = str(value)
        return self.line(self.scrubber.named(name, text) if self.scrubs else text)

    def uri(self, uri: str) -> str:
        """The path of a source."""
        return self.scrubber.uri(uri) if self.scrubs else uri

    def run_id(self, run: str) -> str:
        """The id of a run as a file name; pseudonymized if it is unsafe or derived from a path."""
        if self.scrubs:
            return keyed_id(run)
        return run if _ID.fullmatch(run) else digest(run)[:12]


class ShownNames(ShortNames):
    """Short names of sources, made from their scrubbed paths."""

    def __init__(self, sources: Mapping[str, Mapping[str, Any]], text: Text) -> None:
        self._shown = {uri: text.uri(uri) for uri in sources}
        titles = {
            shown: text.line(sources[uri]["title"] or "") for uri, shown in self._shown.items()
        }
        super().__init__(self._shown.values(), titles=titles)
        self._by_length = sorted(self._shown, key=len, reverse=True)

    def short(self, uri: str) -> str:
        """The short name of a source."""
        return super().short(self._shown.get(uri, uri))

    def at(self, uri: str, line: int | None) -> str:
        """The place of a line: 001:27."""
        return f"{self.short(uri)}:{line}" if line else self.short(uri)

    def system(self, name: str) -> str:
        """A device as stated, else a note with the document."""
        return super().system(self._shown.get(name, name))

    def path(self, uri: str) -> str:
        """The scrubbed path of a source."""
        return self._shown.get(uri, uri)

    def within(self, text: str) -> str:
        """The text with every path shortened."""
        if "/" in text or "." in text:
            for uri in self._by_length:
                if uri in text:
                    text = text.replace(uri, self.short(uri))
        return text


class Slugs:
    """Readable, safe and unique file names."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The file name, without suffix, for a name."""
        made = _SLUG.sub("-", name).strip("-.")[:60].lower()
        if not made or made != name.lower() or self._taken.get(made, name) != name:
            made = f"{made or 'x'}-{digest(name)[:6]}"
        self._taken[made] = name
        return made


def digest(text: str | bytes) -> str:
    """The hex digest of content."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    return hashlib.sha256(data).hexdigest()


def _json(value: object) -> str:
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, default=plain, separators=(",", ":")
    )


def data_file(key: str, value: object) -> bytes:
    """A data file that pages load as a script: a single call, safe within a script element."""
    # Texts are filtered already; only values without a JSON type are converted.
    try:
        made = _json(value)
    except ValueError:  # NaN or infinity: null, as everywhere
        made = _json(plain(value))
    made = CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", made)
    made = made.replace("</", "<\\/").replace("<!--", "<\\!--")
    made = made.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"bench_data({json_text(key)}, {made});\n".encode("utf-8", "backslashreplace")
