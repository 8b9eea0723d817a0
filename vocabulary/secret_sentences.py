"""Secrets in sentences: some words after one that announces them."""

from __future__ import annotations

from .secret_commands import UNREAD
from .secret_form import form_of, redact_opaque
from .secret_words import SIGNS

# Words that announce a secret; between them and it few others, none of a measurement.
_NOUN = (
    r"(?i:\b(?:pass(?:word|phrase|wd|code)"
    r"|(?:api|access|secret|private|auth|account|license)[ _-]?(?:key|token)"
    r"|(?:access|bearer|refresh|auth|oauth|session|security|invalid|user)[ _]token"
    r"|the token|secret|key for|credentials?))"
)
_BETWEEN = (
    r"(?:\s(?:provided|passed|given|supplied|used|set|is|was|for|of|the|user|with|from|value|to"
    r"|for\s[\w.-]{1,40}(?=:)|yours|must|be|have|long,|characters|\d{1,3}|['\"`][\w.@-]{1,60}['\"`]"
    r"|[\w-]{1,40}[.@][\w.@-]{1,60})){0,10}?"
)
SENTENCES = (
    # In SQL.
    form_of(
        "password identified",
        rf"(?P<is>\b(?:PASSWORD|(?i:identified\s{{1,3}}by(?:\s{{1,3}}password)?))\s{{1,3}}')"
        rf"(?P<value>{UNREAD}[^'\n]+)",
    ),
    # What a person would type, some words after the word password: letters, digits and signs.
    form_of(
        "password passphrase passcode passwd login:",
        r"(?P<is>(?i:\b(?:pass(?:word|phrase|wd|code)\b|login:))[^:=|\n\d]{0,60}"
        r"(?::[^:=|\n]{0,60})?[\s:=|/][\s\"'`(*]{0,3})"
        rf"(?P<value>{UNREAD}(?=[A-Za-z\d]{{1,40}}[{SIGNS}][\w{SIGNS}])(?=\D{{0,40}}\d)"
        rf"(?=[^A-Za-z]{{0,40}}[A-Za-z])[\w{SIGNS}@$&.-]{{8,60}})(?![\w/(])",
    ),
    # An answer to a question.
    form_of(
        "pass key token secret credential",
        rf"(?P<is>{_NOUN}[^:=|\n\d]{{0,60}}:\s{{1,3}})(?P<value>{UNREAD}[\w+/=-]{{16,400}})(?![\w+/=-])",
        redact_opaque,
    ),
    form_of(
        "pass key token secret credential",
        rf"(?P<is>{_NOUN}{_BETWEEN}[\s*]{{0,3}}[:=]?\s{{1,3}}[\"'`(*]{{0,3}})"
        rf"(?P<value>(?=\S{{0,4096}}?[\d{SIGNS}]){UNREAD}[^\s\"'`<>|]{{8,4096}})",
        redact_opaque,
    ),
)
