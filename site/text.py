"""Text of a warehouse on a page: scrubbed, bounded, with what turns or hides a text shown."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from html import escape as _escape

from markupsafe import Markup

from ..project.short import Names
from ..records.scrub import Scrubber, keyed_id
from ..vocabulary.printable import CONTROL, INVISIBLE, json_text, plain, visible

LONGEST = 400  # characters of one text, unless a page asks for more
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_SLUG = re.compile(r"[^0-9A-Za-z.-]+")
_LINE_BREAKS = str.maketrans("\r\n\t\u2028\u2029", "     ")


class Text:
    """What every text from a warehouse goes through; nothing of it is markup."""

    def __init__(self, kinds: Iterable[str] = ()) -> None:
        self.scrubber = Scrubber(kinds)
        self.scrubs = bool(self.scrubber.kinds)

    @property
    def taken_out(self) -> str:
        """A digest of the names that are replaced wherever they stand."""
        return digest(repr(sorted(self.scrubber.known.items())))

    def line(self, value: object, most: int = LONGEST) -> str:
        """One line of plain text, not yet escaped: so many characters, and how many more."""
        text = str(value)
        # Nearly every text: nothing in it is to be shown otherwise.
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
        """The same for HTML, as text or as a quoted attribute."""
        return Markup(_escape(self.line(value, most)))

    def named(self, name: str, value: object) -> str:
        """The value of a setting, whose name may tell that it is a host or a user."""
        text = str(value)
        return self.line(self.scrubber.named(name, text) if self.scrubs else text)

    def uri(self, uri: str) -> str:
        """The path of a source."""
        return self.scrubber.uri(uri) if self.scrubs else uri

    def run_id(self, run: str) -> str:
        """The id of a run as the name of a file; another where it may not be, or tells a path."""
        if self.scrubs:
            return keyed_id(run)
        return run if _ID.fullmatch(run) else digest(run)[:12]


class ShownNames(Names):
    """Short names of sources, made of what may be shown of their paths."""

    def __init__(self, uris: Iterable[str], text: Text) -> None:
        self._shown = {uri: text.uri(uri) for uri in uris}
        super().__init__(self._shown.values())
        self._by_length = sorted(self._shown, key=len, reverse=True)

    def short(self, uri: str) -> str:
        """The short name of a source."""
        return super().short(self._shown.get(uri, uri))

    def at(self, uri: str, line: int | None) -> str:
        """A line of a source: 001:27."""
        return f"{self.short(uri)}:{line}" if line else self.short(uri)

    def system(self, name: str) -> str:
        """A device as stated, else the document and that none is."""
        return super().system(self._shown.get(name, name))

    def path(self, uri: str) -> str:
        """What may be shown of the path of a source."""
        return self._shown.get(uri, uri)

    def within(self, text: str) -> str:
        """A text with every path in it shortened."""
        if "/" in text or "." in text:
            for uri in self._by_length:
                if uri in text:
                    text = text.replace(uri, self.short(uri))
        return text


class Slugs:
    """Names of files: readable, safe, and each of one thing alone."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The file name, without its ending, for a name."""
        made = _SLUG.sub("-", name).strip("-.")[:60].lower()
        if not made or made != name.lower() or self._taken.get(made, name) != name:
            made = f"{made or 'x'}-{digest(name)[:6]}"
        self._taken[made] = name
        return made


def digest(text: str | bytes) -> str:
    """A hash of content, as hexadecimal."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    return hashlib.sha256(data).hexdigest()


def _json(value: object) -> str:
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, default=plain, separators=(",", ":")
    )


def data_file(key: str, value: object) -> bytes:
    """A file of data: one call that a page loads as a script, with nothing that ends a script."""
    # Texts are shown ones already; only what JSON has no type for is made plain one by one.
    try:
        made = _json(value)
    except ValueError:  # NaN or infinity: null, as everywhere
        made = _json(plain(value))
    made = CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", made)
    made = made.replace("</", "<\\/").replace("<!--", "<\\!--")
    made = made.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"bench_data({json_text(key)}, {made});\n".encode("utf-8", "backslashreplace")
