"""Tokens with a recognisable form, by the published rules of gitleaks (secret_rules.toml).

It uses those rules that need no name next to the token and examine each letter a bounded number of
times. `python -m bench.vocabulary.secret_rules gitleaks.toml` selects them again.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from .package_toml import declared

_FILE = "secret_rules.toml"
# Excluded: rules that need a name in front of the token, or anything in between, since our own
# names cover that; rules that take a hash or an id for a token; and rules that ours surpass.
_NAMED = (r"[ \t\w.-]{0,20}", ".*", ".{0,", "[\\s\\S", '[^"]{3,}', "(.{")
_UNUSED = frozenset(("sourcegraph-access-token", "twilio-api-key", "vault-service-token"))
_END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""  # of a token, in code; in a log any other sign may follow
_PUBLIC = frozenset(("flutterwave-public-key",))


@dataclass(frozen=True)
class Rule:
    """One kind of token: a keyword in each of them, in small letters, and its pattern."""

    id: str
    keywords: tuple[str, ...]
    regex: str  # as published, for Go
    entropy: float  # bits per letter, at least

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern for Python. Raises re.error for an incompatible one."""
        text = self.regex.replace(_END, r"(?![A-Za-z0-9])").replace("[[:alnum:]]", "[A-Za-z0-9]")
        text = text.replace(r"(?:[^\w-]|\z)", r"(?![\w-])").replace(r"\z", r"\Z")
        return re.compile(_scoped(text))


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule in use."""
    return tuple(_rules(declared(__package__ or "bench.vocabulary", _FILE)))


@cache
def keywords() -> Mapping[str, tuple[Rule, ...]]:
    """The rules by the keyword in each of their tokens."""
    by_keyword: dict[str, list[Rule]] = {}
    for rule in rules():
        for keyword in rule.keywords:
            by_keyword.setdefault(keyword, []).append(rule)
    return {keyword: tuple(found) for keyword, found in by_keyword.items()}


def redact_tokens(text: str, words: str, among: Iterable[str], instead: str) -> str:
    """A text with known tokens replaced; `words` are its long words in small letters.

    Rules with a keyword that is not `among` these are skipped.
    """
    for keyword in among:
        if keyword in words:
            for rule in keywords()[keyword]:
                text = rule.pattern.sub(partial(_put, rule, instead), text)
    return text


def _put(rule: Rule, instead: str, match: re.Match[str]) -> str:
    group = 1 if match.re.groups and match[1] else 0
    token = match[group]
    if rule.entropy and _entropy(token) < rule.entropy:
        return match.group()
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match.group()[:start] + instead + match.group()[end:]


def _entropy(text: str) -> float:
    """Shannon entropy, in bits per letter."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)


def _scoped(text: str) -> str:
    """Go's `(?i)` extends to the end of its group, which Python requires to be explicit."""
    while (at := text.find("(?i)", 1)) > 0:
        depth, end, in_class = 0, at + 4, False
        while end < len(text) and depth >= 0:
            sign = text[end]
            if sign == "\\":
                end += 1
            elif in_class or sign == "[":
                in_class = sign != "]"
            elif sign in "()":
                depth += 1 if sign == "(" else -1
            end += 1
        end -= depth < 0
        text = f"{text[:at]}(?i:{text[at + 4 : end]}){text[end:]}"
    return text


def _rules(listed: Mapping[str, Any]) -> Iterator[Rule]:  # Any: of a TOML file
    for rule in listed["rules"]:
        yield Rule(rule["id"], tuple(rule["keywords"]), rule["regex"], rule.get("entropy", 0.0))


def _is_used(rule: Mapping[str, Any]) -> bool:
    regex = rule.get("regex", "")
    named = not regex or any(mark in regex for mark in _NAMED)
    return not named and rule["id"] not in _UNUSED | _PUBLIC


def _pick(path: Path) -> str:
    """The file of used rules, from the published one."""
    import hashlib
    import tomllib
    from importlib.resources import files

    published = path.read_bytes()
    head = (
        (files(__package__ or "bench.vocabulary") / _FILE).read_text("utf-8").split("[[rules]]")[0]
    )
    digest = re.compile(r"(?<=^# SHA-256: )\w+", re.M)
    lines = [digest.sub(hashlib.sha256(published).hexdigest(), head)]
    for rule in filter(_is_used, tomllib.loads(published.decode())["rules"]):
        listed = ", ".join(f'"{word}"' for word in rule["keywords"])
        lines += [f'[[rules]]\nid = "{rule["id"]}"\nkeywords = [{listed}]\n']
        lines += [f"entropy = {rule['entropy']}\n"] if "entropy" in rule else []
        lines += [f"regex = '''{rule['regex']}'''\n\n"]
    return "".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.stdout.write(_pick(Path(sys.argv[1])))
