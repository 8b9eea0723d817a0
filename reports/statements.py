"""The queries of a report: named statements of `queries/NAME.sql`, run in order.

A line `-- from OTHER: NAMES` takes statements of another report, so that both tell them alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse

_NAME = re.compile(r"^-- name: (\w+)\n", re.M)
_FROM = re.compile(r"^-- from (\w+): (.+)$", re.M)
_PARAMETER = re.compile(r"\$(\w+)")


def report_names() -> list[str]:
    """Every report, by the files of the queries folder."""
    return sorted(
        file.name.removesuffix(".sql") for file in _folder().iterdir() if file.name.endswith(".sql")
    )


def statements(report: str) -> dict[str, str]:
    """The statements of a report by name; raises BenchError for an unknown report."""
    if report not in report_names():
        raise BenchError(
            f"no report {report!r}",
            why=f"known reports: {', '.join(report_names())}",
            hint=f"for a file of that name write ./{report}",
        )
    text = (_folder() / f"{report}.sql").read_text("utf-8")
    head, *parts = _NAME.split(text)
    taken: dict[str, str] = {}
    for other, names in _FROM.findall(head):
        theirs = statements(other)
        taken |= {name: theirs[name] for name in names.split()}
    own = (part.strip().rstrip(";") for part in parts[1::2])
    return taken | dict(zip(parts[::2], own, strict=True))


def run(
    warehouse: Warehouse, report: str, parameters: Mapping[str, object]
) -> dict[str, list[dict[str, Any]]]:
    """The rows of every statement, each as column name -> value."""
    return {name: _run(warehouse, text, parameters) for name, text in statements(report).items()}


def _run(warehouse: Warehouse, text: str, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
    named = set(_PARAMETER.findall(text))
    return warehouse.dicts(
        text, {key: value for key, value in parameters.items() if key in named} or None
    )


def _folder() -> Traversable:
    return files(__package__ or "bench.reports") / "queries"
