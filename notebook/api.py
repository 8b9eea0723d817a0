"""The warehouse in Python: every answer is a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import BenchError

if TYPE_CHECKING:
    import pandas as pd

    from ..schema.warehouse import Warehouse

Runs = str | Sequence[str] | None


class Bench:
    """A warehouse to query, from `bench.open` or `bench.read`.

    The file is closed between calls, so a notebook does not block `bench ingest`. Within `with`
    the warehouse stays open and locked, and all answers come from the same state.

    `where` is a condition in SQL over the columns of the answer: `"tp = 4 AND gbs >= 512"`.
    `run` is a run id or several; None: all. Every column is explained in docs/warehouse.md.

    Every method raises duckdb.Error for a wrong query or condition, and BenchError (Locked,
    Incompatible) when the warehouse cannot be read.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        lock_timeout: float = 5.0,
        warehouse: Warehouse | None = None,
    ) -> None:
        """One of `path` (a file) and `warehouse` (one in memory); `lock_timeout` in seconds."""
        if (path is None) == (warehouse is None):
            raise ValueError("either a path or a warehouse")
        self._path = path
        self._lock_timeout = lock_timeout
        self._warehouse = warehouse

    def configurations(self, where: str | None = None) -> pd.DataFrame:
        """Runs with topology and derived columns: the table to start from.

        One row a run: `run_id`, `uri`, `line`; `size` (label), `layers`, `hidden`, `seq_len`
        (tokens); `nodes`, `devices`, `world_size` (processes), `dp`, `tp`, `pp`; `mbs`, `gbs`
        (sequences), `tokens_per_step`; `status`, `kind`, `flags`; and more.
        """
        return self._of_runs("configurations", None, where, "uri, line, run_id")

    def runs(self, where: str | None = None) -> pd.DataFrame:
        """Runs as stated by their sources; NULL where nothing is stated.

        One row a run: `run_id`, `uri`, `line`, `origin` (row, log, quote), `model`, `params_b`
        (1e9), `layers`, `hidden`, `heads`, `seq_len` (tokens), `framework`, `device`, `dtype`,
        `recompute`, `status`, `kind`, `flags`, `date`; and more.
        """
        return self._of_runs("runs", None, where, "uri, line, run_id")

    def iterations(self, run: Runs = None, where: str | None = None) -> pd.DataFrame:
        """Logged intervals of logs, in the order of the log.

        One row an interval: `run_id`, `segment`, `iteration`, `interval_length` (iterations),
        `step_time_s` (s), `samples_per_s` and `tokens_per_s` (job), `tflops` (TFLOP/s, process, as
        printed), `loss`, `losses`, `lr`, `grad_norm`, `gbs` (sequences), `line`; and more.
        """
        return self._of_runs("iterations", run, where, "run_id, line")

    def measurements(
        self, metric: str | None = None, run: Runs = None, where: str | None = None
    ) -> pd.DataFrame:
        """Values printed in published tables.

        One row a value: `run_id`, `metric` (step_time_s, tflops, memory, ...), `value`, `low` and
        `high` (what its digits allow), all three in `unit`; `raw` (as written), `scope` (process,
        node, device, job), `flags`, `marks`, `line`.
        """
        order = "run_id, metric, line"
        if metric is None:
            return self._of_runs("measurements", run, where, order)
        return self._of_runs("measurements", run, where, order, "metric = ?", [metric])

    def metric(self, name: str, run: Runs = None) -> pd.DataFrame:
        """A computed metric: `run_id`, `value`, `low`, `high`, and its inputs.

        The names and units: `[(m.name, m.unit) for m in bench.metrics()]`. Raises BenchError for
        another name.
        """
        from ..schema.catalogue import metrics

        views = {metric.name: metric.view for metric in metrics()}
        if name not in views:
            raise BenchError(f"unknown metric {name!r}", hint=f"one of {', '.join(views)}")
        return self._of_runs(views[name], run, None, "run_id")

    def sql(
        self, query: str, parameters: Sequence[object] | Mapping[str, object] | None = None
    ) -> pd.DataFrame:
        """The result of an SQL query; `?` or `$name` in it are `parameters`.

        A file is open read-only. DuckDB's own functions may reach other files: `read_csv(...)`.
        """
        if self._warehouse is not None:
            return _frame(self._warehouse, query, parameters)
        with self._open() as warehouse:
            return _frame(warehouse, query, parameters)

    def close(self) -> None:
        """Close the warehouse; one in memory is lost."""
        if self._warehouse is not None:
            self._warehouse.close()
        self._warehouse = None

    def __enter__(self) -> Bench:
        if self._warehouse is None:
            self._warehouse = self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Bench({str(self._path) if self._path else 'in memory'!r})"

    def _repr_html_(self) -> str:
        """The display in notebooks: runs by model and device, with escaped texts."""
        counts = self.sql(
            """SELECT size AS model, device, count(*) AS runs,
                   count(DISTINCT uri) AS sources
               FROM configurations GROUP BY ALL ORDER BY runs DESC, model, device"""
        ).fillna({"model": "not stated", "device": "not stated"})
        from .frame import shown_html

        return shown_html(counts, repr(self))

    def _open(self) -> Warehouse:
        from ..project.read import open_settled

        if self._path is None:
            raise BenchError("this warehouse in memory is closed", hint="bench.read(...) again")
        return open_settled(self._path, self._lock_timeout, confined=False)

    def _of_runs(
        self,
        view: str,
        run: Runs,
        where: str | None,
        order: str,
        condition: str = "true",
        parameters: Sequence[object] = (),
    ) -> pd.DataFrame:
        values = list(parameters)
        if run is not None:
            condition += " AND list_contains(?::VARCHAR[], run_id)"
            values.append([run] if isinstance(run, str) else list(run))
        # On a line of its own, since the condition may end with a comment.
        given = f"AND (\n{where}\n)" if where else ""
        import duckdb  # `import bench` does not load it

        query = f"SELECT * FROM {view} WHERE {condition} {given} ORDER BY {order}"
        try:
            return self.sql(query, values)
        except duckdb.Error as error:
            if where is None:
                raise
            hint = f"columns of {view}: docs/warehouse.md"
            raise BenchError(
                f"the condition {where!r} cannot be used", why=str(error).splitlines()[0], hint=hint
            ) from error


def _frame(warehouse: Warehouse, query: str, parameters: object) -> pd.DataFrame:
    from ..schema.connect import explained

    with explained(warehouse.path):
        data_frame: pd.DataFrame = warehouse.execute(query, parameters).df()
    from .frame import Frame  # needs the templates of pages

    return Frame(data_frame)
