"""Text safe for printing, for every stream, page and listing in any format.

Text of logs, tables and file names is untrusted. Printed unchanged it could move the cursor of a
terminal, fill its clipboard, reverse a line, or command the host of a job.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from decimal import Decimal

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Zero-width, yet no format characters: grapheme joiner, Hangul and Khmer fillers.
INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
# Commands to hosts of jobs within a log: a line `::error::`, and `##[error]` anywhere.
COMMAND = re.compile(r"^([^\S\n]*+)(?=::.*::)|(?<=##)(?=(?:\w+)?\[)", re.M)
_IN_JSON = re.compile(rf"{CONTROL.pattern}|(?<=##)\w*\[")
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


class Commands(str):
    """Lines intended as commands to the host of a job: from `workflow_command`."""

    __slots__ = ()


def terminal(text: str | None) -> str:
    """Text for one line of a terminal: invisible characters are shown as escapes."""
    return "".join(map(_seen, re.sub(r"\r\n|[\n\t]", " ", text or "")))


def visible(text: str) -> str:
    """A whole page with control characters and changes of direction shown as escapes."""
    return CONTROL.sub(lambda match: _seen(match[0]), text)


def logged(text: str) -> str:
    """A whole text for a stream that may be the log of a job, with its commands disarmed."""
    if isinstance(text, Commands):
        return text
    return COMMAND.sub(lambda match: f"{match[1] or ''}\\", visible(text))


def typed(word: str) -> str:
    """A name as a word of a command to copy: no other command, and no option."""
    return shlex.quote(f"./{word}" if word.startswith("-") else word)


def workflow_command(level: str, message: str, **properties: object) -> Commands:
    """A line that GitHub shows next to a line of a file, or above a job."""
    given = ",".join(f"{name}={str(v).translate(_PROPERTY)}" for name, v in properties.items())
    data = visible(message.strip().translate(_DATA))
    return Commands(f"::{level} {visible(given)}::{data}\n")


def json_text(value: object, indent: int | None = None) -> str:
    """A value as JSON without cursor movement, changes of direction or commands."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return _IN_JSON.sub(_json_escape, text)


def _json_escape(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}\\u{ord(match[0][-1]):04x}"


def plain(value: object) -> object:
    """A value for JSON: dates as ISO text, NaN and infinity as null."""
    if isinstance(value, Decimal):
        value = int(value) if value.is_finite() and value == int(value) else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value.hex() if isinstance(value, bytes) else plain(str(value))


def _seen(character: str) -> str:
    """The character, or its escape if it moves the cursor, turns the text or has no width."""
    category = unicodedata.category(character)
    if category not in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in INVISIBLE:
        return character
    code = ord(character)
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )
