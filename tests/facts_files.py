"""Entries of facts.toml, for tests."""

from __future__ import annotations

SIGNED = 'reason = "measured twice"\nauthor = "A. Author"\ndate = 2026-02-16\n'


def fact(match: str, field: str, value: str, more: str = SIGNED) -> str:
    """One entry of facts.toml."""
    return f'[[fact]]\nmatch = {{ {match} }}\nfield = "{field}"\nvalue = {value}\n{more}\n'
