"""A warehouse and reporter for LLM-training benchmark results.

>>> import bench
>>> w = bench.open("bench.duckdb")          # what `bench ingest` has made
>>> w = bench.read("logs/", "README.md")    # or logs and tables, in memory
>>> w.configurations("tp = 4")              # a pandas DataFrame
"""

# `python -m bench` runs this before it can leave the working folder out of the search for modules:
# an import here could be of a file that lies there. Checkers know the name; annotations are texts.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from .notebook.api import Bench
    from .schema.catalogue import Formula, Metric

__all__ = ["formulas", "metrics", "open", "read"]


def open(path: "str | PathLike[str]" = "bench.duckdb", *, lock_timeout: float = 5.0) -> "Bench":
    """The warehouse file at `path`; waits up to `lock_timeout` seconds for a writer.

    Raises BenchError without a file, Locked or Incompatible if it cannot be read.
    """
    from pathlib import Path

    from .notebook.api import Bench
    from .schema.opening import open_read

    open_read(Path(path), lock_timeout).close()
    return Bench(Path(path), lock_timeout=lock_timeout)


def read(
    *paths: "str | PathLike[str]",
    formats: "str | PathLike[str] | None" = None,
    set: "Mapping[str, object] | None" = None,
) -> "Bench":
    """Logs and benchmark tables, files or folders, read into memory.

    `formats` is a folder of log formats in addition to the built-in ones. `set` has values of
    fields that the sources do not state, as `--set`: `{"device": "A64FX", "nodes": 64}`.

    Raises BenchError for a missing or unreadable path, and for an invalid field or value;
    NothingRecognised if none contains a log or a table.
    """
    import warnings
    from pathlib import Path

    from .notebook.api import Bench
    from .project import read as project
    from .schema.annotatable import parse_value
    from .schema.errors import BenchError

    if not paths:
        raise BenchError("nothing to read", hint='bench.read("logs", "results.md")')
    overrides = {name: parse_value(name, str(value), "set") for name, value in (set or {}).items()}
    warehouse, _, checked = project.read(
        [Path(path) for path in paths], Path.cwd(), Path(formats) if formats else None, overrides
    )
    for text in checked.contradictions:
        warnings.warn(text, stacklevel=2)
    return Bench(warehouse=warehouse)


def formulas() -> "tuple[Formula, ...]":
    """Every formula: name, title, unit, source, what it counts, expression."""
    from .schema.catalogue import formulas

    return formulas()


def metrics() -> "tuple[Metric, ...]":
    """Every metric: name, view, title, unit, source."""
    from .schema.catalogue import metrics

    return metrics()
