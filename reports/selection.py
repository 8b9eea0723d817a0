"""Which runs a page speaks of: by model, document and filter, in one temporary table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from ..ingest.sizes import parse_size
from ..schema.errors import BenchError
from ..schema.held import OF_PAGES, hold
from ..schema.warehouse import Warehouse

_ANY_OTHER = """
    SELECT 1 FROM cells c JOIN tables t USING (table_id)
    WHERE c.name IS NULL AND trim(t.headings[c.column_number]) <> ''
      AND c.table_id IN (SELECT table_id FROM selected) LIMIT 1"""
_MORE_SETTINGS = """
    UPDATE selected SET settings = concat_ws(', ', settings, more)
    FROM (SELECT unnest(?::VARCHAR[]) AS run, unnest(?::VARCHAR[]) AS more) WHERE run_id = run"""
_CLOSE = 0.03  # a computed size within 3 % of a label may bear it


@dataclass(frozen=True, slots=True)
class Selection:
    """What a user asked for; `where` is a safe SQL condition over the columns of `selected`."""

    model: str | None = None
    document: str | None = None
    where: str | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Selected:
    """What was found: the name the page bears and the number of runs."""

    name: str
    runs: int


def select(warehouse: Warehouse, selection: Selection) -> Selected:
    """Fill the temporary table `selected`.

    Raises BenchError for a model or document that is not there, naming the known ones.
    """
    hold(warehouse, *OF_PAGES)
    conditions: list[str] = []
    parameters: list[object] = []
    name = "all models"
    if selection.model is not None:
        name, condition, values = _model(warehouse, selection.model)
        conditions.append(condition)
        parameters += values
    if selection.document is not None:
        conditions.append("uri = ?")
        parameters.append(_document(warehouse, selection.document))
    if selection.since is not None:
        conditions.append("source_id IN (SELECT source_id FROM loads WHERE loaded_at >= ?)")
        parameters.append(selection.since)
    where = " AND ".join(conditions) or "true"
    warehouse.rows(_selection_sql().replace("{where}", where), parameters)
    _add_other_settings(warehouse)
    if selection.where:
        warehouse.rows(f"DELETE FROM selected WHERE ({selection.where}) IS NOT TRUE")
    [(runs,)] = warehouse.rows("SELECT count(*) FROM selected")
    if selection.model is None or parse_size(selection.model) is None:
        sizes = warehouse.rows(
            "SELECT DISTINCT size FROM selected WHERE size IS NOT NULL ORDER BY size LIMIT 2"
        )
        name = sizes[0][0] if len(sizes) == 1 else name
    return Selected(name, runs)


def _add_other_settings(warehouse: Warehouse) -> None:
    """Settings that a table states in columns of its own, behind the environment flags."""
    if not warehouse.rows(_ANY_OTHER):
        return
    from .other_columns import other_columns  # what headings mean takes longer to load

    others = other_columns(warehouse)
    if others:
        told = [
            ", ".join(f"{name}={_whole(value)}" for name, value in one.items())
            for one in others.values()
        ]
        warehouse.rows(_MORE_SETTINGS, [[*others], told])


def _whole(value: str) -> str:
    """A value without the blank behind a comma, which parts settings."""
    return value.replace(", ", ",")


def known_models(warehouse: Warehouse) -> list[tuple[str, int]]:
    """Every size or model name of the warehouse and its number of runs, the commonest first."""
    return [
        (str(name), count)
        for name, count in warehouse.rows(
            """SELECT coalesce(size, model) AS name, count(*) AS runs FROM configurations
               WHERE coalesce(size, model) IS NOT NULL GROUP BY ALL ORDER BY runs DESC, name"""
        )
    ]


def source_named(warehouse: Warehouse, name: str, *, whole: bool = False) -> str:
    """The uri of the source that a user means: its path, file name, stem or what begins it.

    Unless it has to be `whole`, any part that one source alone has will do.
    """
    return _document(warehouse, name, whole)


def _model(warehouse: Warehouse, asked: str) -> tuple[str, str, list[object]]:
    size = parse_size(asked)
    if size is not None and re.fullmatch(r"\s*[\d.]+\s*[BMT]\d*\s*", asked, re.I):
        condition = """(abs(params_b - ?) < 1e-9 OR (params_b IS NULL
            AND abs(coalesce(params_stated, params_computed) / 1e9 / ? - 1) <= ?))"""
        values: list[object] = [size, size, _CLOSE]
        [(label,)] = warehouse.rows("SELECT size_label(?)", [size])
    else:
        condition = "contains(regexp_replace(lower(model), '[^a-z0-9]', '', 'g'), ?)"
        values, label = [re.sub(r"[^a-z0-9]", "", asked.lower())], asked
    [(count,)] = warehouse.rows(f"SELECT count(*) FROM configurations WHERE {condition}", values)
    if not count or values == [""]:
        known = [f"{name} ({runs})" for name, runs in known_models(warehouse)]
        raise BenchError(
            f"no runs of model {asked!r}",
            why=f"known models (runs): {', '.join(known[:40]) or 'none'}",
            hint="bench ingest PATH..."
            if not known
            else "--model with one of these, or none for all",
        )
    return str(label), condition, values


def _document(warehouse: Warehouse, asked: str, whole: bool = False) -> str:
    uris = [str(uri) for (uri,) in warehouse.rows("SELECT uri FROM sources ORDER BY uri")]
    found = _matching(uris, asked.removeprefix("./"), whole)
    if len(found) != 1 and os.path.exists(asked):  # a path from here: uris are from the warehouse's
        found = _at_path(warehouse, uris, asked) or found
    if len(found) == 1:
        return found[0]
    shown = ", ".join((found or uris)[:20]) or "none"
    raise BenchError(
        f"{'several sources are' if found else 'no source is'} called {asked!r}",
        why=f"{'they are' if found else 'known sources'}: {shown}",
        hint="name one by its path",
    )


def _at_path(warehouse: Warehouse, uris: Sequence[str], asked: str) -> list[str]:
    """The source that lies at a path, by its name or, under links, by what they lead to."""
    root = os.path.abspath(warehouse.path.parent if warehouse.path else os.curdir)
    path = Path(os.path.relpath(os.path.abspath(asked), root)).as_posix()
    if path in uris:
        return [path]
    real = os.path.realpath(asked)
    return [uri for uri in uris if os.path.realpath(os.path.join(root, uri)) == real]


def _matching(uris: Sequence[str], asked: str, whole: bool) -> list[str]:
    tests: Sequence[Callable[[str], bool]] = (
        lambda uri: uri == asked,
        lambda uri: uri.rsplit("/", 1)[-1] == asked,
        lambda uri: uri.rsplit("/", 1)[-1].rsplit(".", 1)[0] == asked,
        lambda uri: uri.endswith("/" + asked),
        lambda uri: uri.rsplit("/", 1)[-1].startswith(asked),
        lambda uri: asked in uri,
    )
    if whole:
        tests = tests[:5]
    return next((found for test in tests if (found := [uri for uri in uris if test(uri)])), [])


@cache
def _selection_sql() -> str:
    return (files(__package__ or "bench.reports") / "selection.sql").read_text("utf-8")
