"""docs/warehouse.md from the SQL files: `python -m bench.schema.reference > docs/warehouse.md`."""

from __future__ import annotations

from collections.abc import Iterator

from .catalogue import column_note, formulas, metrics, view_notes
from .derivation import Alternative
from .opening import in_memory
from .warehouse import Warehouse

# Views, in the order of a reader who looks for runs.
FIRST = ("configurations", "runs", "measured", "left_out", "model_flops")

_HEAD = """# The warehouse

A warehouse is one DuckDB file. Every view of schema `main` named here is public: its name, its
columns and their units stay; columns may be added. Any DuckDB reads it, without bench:

    duckdb bench.duckdb "SELECT size, count(*) FROM configurations GROUP BY ALL"

DuckDB 1.5 and 2.x both open the file. Schema `raw` has the tables behind the views, every
generation of every file with its `load_id`; it is not public. Views show the newest generation of
each file that is not hidden. What a source does not state is NULL; ids are hashes of content.

This page is made from the SQL files: `python -m bench.schema.reference > docs/warehouse.md`.
"""


def page() -> str:
    """The whole page."""
    with in_memory() as warehouse:
        return "\n".join((_HEAD, *_views(warehouse), *_metrics(), *_formulas())) + "\n"


def public_columns(warehouse: Warehouse) -> dict[str, list[tuple[str, str]]]:
    """Each public view with its columns and their types, metrics last."""
    query = """SELECT table_name, column_name, data_type FROM duckdb_columns()
               WHERE database_name = 'wh' AND schema_name = 'main'
               ORDER BY table_name, column_index"""
    found: dict[str, list[tuple[str, str]]] = {}
    for view, column, kind in warehouse.rows(query):
        found.setdefault(view, []).append((column, kind))
    first = [view for view in FIRST if view in found]
    rest = sorted(found.keys() - set(first), key=lambda view: (view.startswith("metric_"), view))
    return {view: found[view] for view in (*first, *rest)}


def _views(warehouse: Warehouse) -> Iterator[str]:
    notes = view_notes()
    yield "## Views\n"
    for view, columns in public_columns(warehouse).items():
        yield f"### {view}\n\n{_sentence(notes.get(view, ''))}\n"
        yield "| column | type | meaning |\n|---|---|---|"
        for column, kind in columns:
            note = column_note(view, column).replace("|", "\\|")
            yield f"| `{column}` | {kind} | {note} |"
        yield ""


def _metrics() -> Iterator[str]:
    yield "## Metrics\n\n| metric | meaning | unit | from | a run's column | made of |"
    yield "|---|---|---|---|---|---|"
    for metric in metrics():
        ways = "; else ".join(dict.fromkeys(map(_way, metric.made.ways)))
        yield (
            f"| `{metric.view}` | {metric.title} | {metric.unit} | {metric.source} "
            f"| `{metric.column}` | {ways} |"
        )
    yield ""


def _way(way: Alternative) -> str:
    """A brief description of one way to make a value."""
    names = (f"`{one.sources[0].name}`" for one in way.inputs)
    if way.expression:
        return f"{way.formula}: {way.expression}" if way.formula else way.expression
    return (
        f"{way.formula} of {', '.join(names)}"
        if way.formula
        else f"what is printed as {next(names)}"
    )


def _formulas() -> Iterator[str]:
    yield "## Formulas\n\nMacros of schema `main`, usable in any query.\n"
    for formula in formulas():
        yield f"### {formula.name}: {formula.title}\n"
        yield f"    {formula.macro}({', '.join(formula.parameters)}) = {formula.expression}\n"
        yield f"In {formula.unit}. Counts {formula.counts}. Source: {formula.source}.\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


if __name__ == "__main__":
    print(page(), end="")
