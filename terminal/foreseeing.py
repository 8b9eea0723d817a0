"""`bench predict` and `bench plan`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..schema.errors import BenchError
from ..schema.own_process import calculate_alone
from ..vocabulary.format import counted
from .answers import fitted, write
from .messages import Waiting, info
from .source import Source
from .tables import Format, emit

if TYPE_CHECKING:
    from ..decide.query import Query

_RECOMPUTE = ("none", "selective", "full")
_DTYPES = ("fp32", "fp16", "bf16", "fp8", "fp4")
_SHOWN = 20  # rows of a ranking shown to people
_PICTURES = (".svg", ".png")


def predict(
    source: Source,
    query: Query,
    sizes: Mapping[str, Any],
    every: bool,
    form: Format | None,
    output: Path | None,
) -> None:
    """Write the prediction of one configuration, or of all feasible ones."""
    calculate_alone()  # matrices of some hundred runs: threads would only wait for each other
    from ..foresight.answers import predicted
    from ..reports.computed import names_of, presented

    with source.opened(query.table) as warehouse, Waiting("predicting"):
        made = predicted(warehouse, query, checked_sizes(sizes), every)
        names = names_of(warehouse)
    if output is not None and output.suffix.lower() in _PICTURES:
        from ..reports.chart import write as write_chart
        from ..reports.predict_chart import predict_picture

        write_chart(predict_picture(names, made), output, named=True)
        info(f"wrote {output}")
        return
    write(fitted(presented(made, names, _SHOWN), query), form, output, "predict.md")
    many = f"{counted(len(made.rows), 'row')}, {len(made.left_out)} left out as out of memory"
    info(f"{many}; next: bench plan --next 5" if every else "--all ranks all splits")


def checked_sizes(sizes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The requested sizes; raises BenchError for unknown values of recompute and dtype."""
    if sizes.get("recompute", "none") not in _RECOMPUTE:
        raise BenchError(
            f"--recompute {sizes['recompute']!r} is unknown", hint=f"one of {', '.join(_RECOMPUTE)}"
        )
    if sizes.get("dtype", "bf16") not in _DTYPES:
        raise BenchError(
            f"--dtype {sizes['dtype']!r} is unknown", hint=f"one of {', '.join(_DTYPES)}"
        )
    return sizes


def plan(
    source: Source,
    query: Query,
    sizes: Mapping[str, Any],
    count: int,
    limits: tuple[int | None, float | None, int, float | None],
    form: Format | None,
    output: Path | None,
) -> None:
    """Write the most valuable next runs; as TOML, a plan of them."""
    calculate_alone()
    from ..decide.neighbours import as_plan
    from ..foresight.planning import Limits, proposed
    from ..reports.computed import names_of, presented

    with source.opened(query.table) as warehouse, Waiting("weighing the runs to propose"):
        made = proposed(warehouse, query, checked_sizes(sizes), count, Limits(*limits))
        names = names_of(warehouse)
    answer = presented(made, names)
    if output is not None and output.suffix == ".toml":
        rows = [{**row, "iterations": limits[2]} for row in answer.rows]
        emit(as_plan(rows, answer.summary, "proposals"), output)
    else:
        write(fitted(answer, query), form, output, "plan.md")
    info(f"{len(answer.rows)} to run; -o plan.toml writes a plan for bench launch")
