"""The form of a secret in a text: what is before it, and what is put in its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from . import secret_words
from .secret_commands import REDACTED, redact_listed

SEEN = REDACTED[:-1]  # the start of a redaction, cut or complete
Put = str | Callable[[re.Match[str]], str]


@dataclass(frozen=True)
class Form:
    """One context of a secret; `across`: also over the end of a line; `listed`: a command, also
    as a list of its arguments."""

    hints: tuple[str, ...]
    regex: str
    put: Put = rf"\g<is>{REDACTED}"
    across: bool = False
    listed: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled at the first hint: compiling all takes longer than the start of a program."""
        return re.compile(self.regex)

    def redact(self, text: str) -> str:
        """A text without secrets of this form."""
        text = self.pattern.sub(self.put, text)
        return redact_listed(text, self.pattern) if self.listed else text


def is_opaque(value: str) -> bool:
    """Whether a word looks like a secret, and is not yet redacted."""
    return secret_words.is_opaque(value, SEEN)


def form_of(
    hints: str,
    pattern: str,
    put: Put = rf"\g<is>{REDACTED}",
    *,
    across: bool = False,
    listed: bool = False,
) -> Form:
    """A form with its hints in one text."""
    return Form(tuple(hints.split()), pattern, put, across, listed)


def redact_opaque(match: re.Match[str]) -> str:
    """A replacement: only of a value that looks like a secret."""
    value = match["value"]
    bare = value.rstrip(".,;:)]}>\"'`")
    if not is_opaque(bare):
        return match.group()
    return f"{match['is']}{REDACTED}{value[len(bare) :]}"
