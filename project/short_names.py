"""Short names of sources for display: the alias of `bench.toml`, `001` of a document
`001_1.3b.md`, the title of `001.md`, else the file name (its last parts if it encodes a path:
`OWNER__REPO__NAME.md`), else the path."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from ..schema.warehouse import Warehouse
from .settings import aliased, read_settings

_TITLE = 40  # letters of a title that name a source
# Or records of one.
_DOCUMENT = re.compile(r"\.(?:md|markdown|mdx|rst|tex|html?|csv)(?:\.(?:json|records))?\Z")


class ShortNames:
    """The shortest name of each source that is unique in the warehouse.

    `aliases`, by path or file name, have precedence; None: those of the nearest `bench.toml`.
    `titles`, by path, name sources whose file name is only a number.
    """

    def __init__(
        self,
        uris: Iterable[str],
        aliases: Mapping[str, str] | None = None,
        titles: Mapping[str, str | None] | None = None,
    ) -> None:
        self._titles = titles or {}
        self._uris = frozenset(uris)
        known = read_settings().aliases if aliases is None else aliases
        self._short = aliased(self._uris, known) if known else {}
        left = sorted(self._uris - self._short.keys())
        # What another file is called is no name of a numbered one.
        called = {name for uri in left for name in (_last(uri), _stem(uri), _file(uri))}
        taken = {*known.values(), *called}
        for shorten in (self._number, _last, _stem, _file):
            count = Counter(map(shorten, left))
            self._short |= {
                uri: name
                for uri in left
                if (name := shorten(uri)) and count[name] == 1 and name not in taken
            }
            taken = set(known.values())
            left = [uri for uri in left if uri not in self._short]

    @classmethod
    def of(cls, warehouse: Warehouse) -> ShortNames:
        """The names of all sources of a warehouse."""
        titles: dict[str, str | None] = dict(warehouse.rows("SELECT uri, title FROM sources"))
        return cls(titles, titles=titles)

    def _number(self, uri: str) -> str:
        """The number of `001_1.3b.md`, the title of `001.md`: its number alone says nothing.

        Nor does that of `04_mbs8.log`, since sweeps count their logs.
        """
        stem = re.sub(r"\.(?:md|log|txt|csv)\Z", "", _stem(uri))  # a record: 001_1.3b.md.json
        if stem.isdecimal():
            return re.sub(r"[^\w.+-]+", "_", self._titles.get(uri) or "")[:_TITLE].strip("_.-")
        match = re.match(r"(0\d{1,3})[_-]", stem) if _DOCUMENT.search(uri) else None
        return match[1] if match else ""

    def short(self, uri: str) -> str:
        """The short name of a source; the uri if nothing shorter is unique."""
        return self._short.get(uri, uri)

    def place(self, where: str) -> str:
        """`uri:line` with the short name of the source."""
        uri, colon, line = where.rpartition(":")
        return f"{self.short(uri)}{colon}{line}"

    def system(self, name: str) -> str:
        """A device as stated, else a note with the source's short name."""
        return f"{self.short(name)} (device not stated)" if name in self._uris else name

    def within(self, text: str) -> str:
        """The text with every `uri:line` shortened to `name:line`."""
        for uri in sorted(self._short, key=len, reverse=True):
            text = text.replace(f"{uri}:", f"{self._short[uri]}:")
        return text


def _stem(uri: str) -> str:
    return _file(uri).rsplit(".", 1)[0]


def _last(uri: str) -> str:
    """The last part of a name that encodes a path, such as
    OWNER__REPO__docs__performance-summary.md; the last two for a README."""
    path, _, last = _stem(uri).rpartition("__")
    if path and last.casefold() in ("readme", "index", "log"):  # of its folder
        return "__".join([path.rpartition("__")[2], last])
    return last if path else ""


def _file(uri: str) -> str:
    return uri.rsplit("/", 1)[-1]
