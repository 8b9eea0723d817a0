"""Variables that name a job and its hosts, which are no settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from .package_toml import declared


@cache
def _kinds() -> Mapping[str, tuple[str, ...]]:
    found = declared(__package__ or "bench.vocabulary", "job_variables.toml")
    return {kind: tuple(names) for kind, names in found.items()}


@cache
def states(name: str) -> str | None:
    """What a variable states about the job: job_ids, hosts, nodes or places; None for a setting."""
    return next((kind for kind, names in _kinds().items() if name in names), None)


def naming(kind: str) -> tuple[str, ...]:
    """The variables that state this about a job: job_ids, hosts, nodes or places."""
    return _kinds()[kind]


def job_variables() -> tuple[str, ...]:
    """All such variables."""
    return tuple(name for names in _kinds().values() for name in names)
