"""How pages that bench wrote are known again: they are no sources, whose runs would count twice."""

from __future__ import annotations

HTML = '<meta name="generator" content="bench">'  # in the head
_HEAD = 2_000  # bytes


def is_own(head: bytes) -> bool:
    """Whether the first bytes of a document are those of a page of bench in HTML."""
    start = head[:_HEAD]
    return start.startswith(b"<!doctype html>") and HTML.encode() in start
