"""How files that bench wrote are known again: they are no sources, whose runs would count twice."""

from __future__ import annotations

MARKDOWN = "<!-- written by bench, not a source -->"  # the first line
HTML = '<meta name="generator" content="bench">'  # in the head
_HEAD = 2_000  # bytes


def is_own(head: bytes) -> bool:
    """Whether the first bytes of a document are those of a page or listing of bench."""
    start = head[:_HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(MARKDOWN.encode()) or (
        start.startswith(b"<!doctype html>") and HTML.encode() in start
    )
