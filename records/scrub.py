"""Pseudonymizes hosts, users and paths in records; a name always has the same pseudonym."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from typing import Any

from ..schema.errors import BenchError
from ..vocabulary import hosts

KINDS = ("hosts", "users", "paths")
_COMMON = frozenset(("root", "localhost", "user", "host", "none", "true", "false"))
SHORTEST = 4  # minimum length of a name that is searched in every text of a record
_HOST = re.compile(
    r"""(?x)(?:(?<=://)|(?<![\w./-]))(?:
      (?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\w)
    | (?:[a-z][a-z0-9-]*\.)+(?:com|org|net|edu|gov|io|dev|local|lan|internal|cluster
                              |de|fr|jp|ch|uk|eu|us|cn)
      (?![\w.-]*\w)
    | (?!slurm-\d+(?![\w-]))
      (?:node|host|gpu|cpu|compute|nid|worker|login|slurm|dgx|hgx)s?-?[a-z]{0,8}-?\d[\w-]*
    )""",
    re.I,
)
_HOST_FIELDS = re.compile(
    r"host(?:name|file)?s?$|(?:^|[_-])(?:node_?list|node_?name|master[_-]addr|rdzv[_-]endpoint)$",
    re.I,
)
_USER_FIELDS = re.compile(r"(?:^|[_-])user(?:name)?$|(?:^|_)logname$|^(?:wandb|hf)_entity$", re.I)
_USER = re.compile(
    r"(?P<before>/(?:home|Users|users|scratch|gpfswork|work|lustre)/)(?P<name>[\w.-]+)"
)
_WINDOWS = re.compile(r"(?<![\w\\])[A-Za-z]:(?:\\+[\w.@+=%, -]+)+")
_OUTSIDE = re.compile(r"(?<![\w./-])(?:\.\./)+(?:[\w.@+=%,-]+/)*[\w.@+=%,-]+")
_BRACKETED = re.compile(r"(?<![\w./-])[a-z][\w-]{0,40}\[\d[\d,-]{0,400}\]", re.I)
_ON = re.compile(r"(?<=\bON )[\w.-]+(?= (?:CANCELLED|FAILED))")  # messages of slurmstepd
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_LOGIN = re.compile(r"(?<![\w.+-])(?P<name>[a-z][\w.-]*)@(?=[\w-])", re.I)
_LOGIN_HOST = re.compile(r"(?<=[\w-]@)[a-z][\w-]*\d[\w.-]*", re.I)  # somebody@frontier12
_PATH = re.compile(
    r"""(?x)(?<![\w./~$<-])(?<!:/)(?:(?<!:)|(?=/[^/]|///))(?:~[\w.-]*|[A-Za-z]:)?(?:/{1,3}[\w.@+=%,-]+){2,}/?
    | (?:(?<=[='"])|^)(?:~[\w.-]*)?/(?=[\d.@+%-]*+[A-Za-z_])[\w.@+%-]++/?(?=['"]|$)
    """
)
_PARTS = re.compile(r"([/_=]+)")  # separators of names in a uri
# Our own identifiers, which are never changed.
_FIXED = frozenset(("id", "sha256", "kind", "origin", "status", "metric", "unit", "scope", "rule",
                    "format", "column", "columns", "alignment", "form", "pieces"))  # fmt: skip


class Scrubber:
    """Replaces names of these kinds by pseudonyms with their digest: `host-1f2e3d`."""

    def __init__(self, kinds: Iterable[str] = ()) -> None:
        self.kinds = frozenset(kinds)
        self.known: dict[str, str] = {}  # names of the current record, and their pseudonyms

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record with names replaced in all texts."""
        if not self.kinds:
            return record
        self.known.clear()
        for _ in range(2):  # the second pass replaces names found by the first anywhere
            made = {name: self._facts(part) if name == "facts" else self._any(part, name)
                    for name, part in record.items()}  # fmt: skip
            made["source"]["uri"] = self.uri(str(record["source"]["uri"]))
        for part in ("run", "table"):
            if part in made:
                made[part]["id"] = keyed_id(str(record[part]["id"]))
        return made

    def uri(self, uri: str) -> str:
        """A source's path without names, and without its folder if outside of the root."""
        if "users" in self.kinds:
            uri = _USER.sub(self._user, f"/{uri}")[1:]
        if "hosts" in self.kinds:
            uri = "".join(_HOST.sub(self._host, part) for part in _PARTS.split(uri))
        uri = self._without_known(uri)
        if "paths" in self.kinds and uri.startswith(("..", "/")):
            folder, _, file = uri.rpartition("/")
            uri = f"{_word('path', folder)}/{file}"
        return uri

    def text(self, text: str) -> str:
        """The text with names replaced."""
        if "users" in self.kinds:
            text = _EMAIL.sub(lambda match: _word("user", match[0]), text)
            text = _LOGIN.sub(lambda match: f"{self._name('user', match['name'])}@", text)
            text = _USER.sub(self._user, text)
        if "paths" in self.kinds:
            for pattern in (_PATH, _WINDOWS, _OUTSIDE):
                text = pattern.sub(lambda match: _word("path", match[0].rstrip("/")), text)
        if "hosts" in self.kinds:
            text = _LOGIN_HOST.sub(self._host, text)
            text = _BRACKETED.sub(lambda f: ",".join(map(self._endpoint, hosts.names(f[0]))), text)
            text = _ON.sub(self._host, _HOST.sub(self._host, text))
        return self._without_known(text)

    def named(self, name: str, text: str) -> str:
        """The value of a setting: replaced as a whole if the setting is a host or a user."""
        if "hosts" in self.kinds and _HOST_FIELDS.search(name):
            return ",".join(self._endpoint(part) for part in hosts.names(text))
        if "users" in self.kinds and _USER_FIELDS.search(name):
            return self._name("user", text)
        return self.text(text)

    def _name(self, kind: str, name: str) -> str:
        """The pseudonym of a name; remembers it for the rest of the record."""
        word = _word(kind, name)
        if len(name) >= SHORTEST and name.lower() not in _COMMON and word != name:
            self.known[name] = word
        return word

    def _user(self, match: re.Match[str]) -> str:
        return f"{match['before']}{self._name('user', match['name'])}"

    def _host(self, match: re.Match[str]) -> str:
        return self._name("host", match[0])

    def _endpoint(self, text: str) -> str:
        """A host's pseudonym with its original port or slots."""
        name, colon, rest = text.partition(":")
        return f"{self._name('host', name)}{colon}{rest}"

    def _without_known(self, text: str) -> str:
        for name, word in self.known.items():
            if name in text:
                pattern = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
                text = re.sub(pattern, word, text)
        return text

    def _any(self, value: Any, name: str) -> Any:  # Any: JSON
        if isinstance(value, str):
            return value if name in _FIXED else self.text(value)
        if isinstance(value, list):
            return value if name in _FIXED else [self._any(item, name) for item in value]
        if isinstance(value, dict):
            made = {key: self._any(item, key) for key, item in value.items()}
            if isinstance(value.get("name"), str) and isinstance(value.get("value"), str):
                made["name"] = value["name"]
                made["value"] = self.named(value["name"], value["value"])
            if "pieces" in made and made.get("raw") != value.get("raw"):
                made["pieces"] = [
                    ["word", made["raw"]]
                ]  # an id derived from it would reveal the path
            return made
        return value

    def _facts(self, facts: dict[str, Any]) -> dict[str, Any]:
        return {
            scope: [
                [name, line, *(text if text is None else self.named(name, text) for text in texts)]
                for name, line, *texts in rows
            ]
            for scope, rows in facts.items()
        }


def keyed_id(name: str) -> str:
    """An id that cannot be checked against a guessed path; keeps one that is keyed already."""
    if name.startswith("k"):
        return name
    key = os.environ.get("BENCH_SCRUB_KEY", "")
    return f"k{hashlib.sha256(f'{key}id:{name}'.encode()).hexdigest()[:11]}"


def parse_kinds(text: str | None) -> tuple[str, ...]:
    """Parse a list of `hosts,users,paths`; raises BenchError for another word."""
    kinds = tuple(part.strip() for part in (text or "").split(",") if part.strip())
    for kind in kinds:
        if kind not in KINDS:
            raise BenchError(f"cannot scrub {kind!r}", hint=f"known: {', '.join(KINDS)}")
    return kinds


def _word(kind: str, name: str) -> str:
    # A digest, so that pseudonyms are the same on every machine and in every export; keyed by the
    # site, so that outsiders cannot guess names.
    key = os.environ.get("BENCH_SCRUB_KEY", "")
    if name.startswith(f"{kind}-") and re.fullmatch(r"\w+-[0-9a-f]{8}", name):
        return name
    return f"{kind}-{hashlib.sha256(f'{key}{kind}:{name}'.encode()).hexdigest()[:8]}"
