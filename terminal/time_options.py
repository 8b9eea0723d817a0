"""Parsers of times in options: a date, a time, an age."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import typer

_DAY = re.compile(r"\s*\d{4}-\d\d-\d\d\s*")
_AGO = re.compile(r"\s*(\d{1,5})\s*(minute|hour|day|week)s?(?:\s+ago)?\s*", re.I)
_NUMBER = re.compile(r"\s*\d{1,7}\s*")  # of a commit; eight digits are a date
_FORMS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")


def parse_since(text: str) -> datetime:
    """Parse a date or an age: 7 days, 36 hours, 2 weeks. Raises BadParameter."""
    return _before(datetime.now(), text) or _dated(text)


def parse_moment(text: str) -> datetime:
    """Parse a time, UTC; a date means the end of the day. Raises BadParameter."""
    if _DAY.fullmatch(text):
        return _dated(text) + timedelta(days=1, microseconds=-1)
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        return _before(datetime.now(UTC).replace(tzinfo=None), text) or _dated(text)
    return at.astimezone(UTC).replace(tzinfo=None) if at.tzinfo else at


def parse_known_at(text: str) -> datetime | int:
    """Parse a time as above, or the number of a commit. Raises BadParameter."""
    return int(text) if _NUMBER.fullmatch(text) else parse_moment(text)


def _before(now: datetime, text: str) -> datetime | None:
    match = _AGO.fullmatch(text)
    if not match:
        return None
    return now.replace(microsecond=0) - timedelta(**{f"{match[2].lower()}s": int(match[1])})


def _dated(text: str) -> datetime:
    for form in _FORMS:
        try:
            return datetime.strptime(text.strip(), form)
        except ValueError:
            continue
    raise typer.BadParameter(
        f"{text!r} is neither a date nor a time ago; use 2024-05-31 or '7 days'."
    )
