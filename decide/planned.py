"""Configurations as a plan of runs, and what a plan has no word for."""

from __future__ import annotations

from collections.abc import Collection

from ..ingest.secrets import REDACTED
from ..schema.errors import BenchError
from .answer import Answer
from .rows import Row

_DTYPES = ("fp32", "bf16", "fp16")  # that a plan has a word for


def as_plan(answer: Answer) -> str:
    """The plan as TOML: one product a configuration, named as in the warehouse.

    Raises BenchError where the model's shape is not stated: another model would be run.
    """
    import tomlkit

    if not answer.rows:
        raise BenchError("there is no plan of it", why="nothing next to the best is left to run")
    if any(row[name] is None for row in answer.rows for name in ("layers", "hidden", "heads")):
        raise BenchError(
            "there is no plan of it",
            why="layers, hidden size and heads of the model are not stated",
            hint="state them in facts.toml",
        )  # fmt: skip
    plan = tomlkit.document()
    for said in (answer.said[0], *unplanned_words(answer.rows[0])):
        plan.add(tomlkit.comment(said))
    plan["name"] = "neighbours"
    if any((row["nodes"] or 1) > 1 for row in answer.rows):
        plan.add(
            tomlkit.comment('several nodes need a scheduler: launcher = "slurm", "pbs", "pjm"')
        )
    matrix = tomlkit.aot()
    names = (
        "layers", "hidden", "heads", "vocab", "seq_len", "nodes", "dp", "tp", "pp", "mbs", "gbs",
    )  # fmt: skip
    for row in answer.rows:
        one = tomlkit.table()
        for name in (*names, "zero_stage", "recompute", "dtype"):
            if row[name] is not None and (name, row[name]) not in _wordless(row):
                one[name] = row[name]
        if row["sequence_parallel"]:
            one["sequence_parallel"] = True
        env = {
            name: said for name, said in row["env"].items() if name.isupper() and said != REDACTED
        }
        if env:
            one["env"] = {name: "" if said == "none" else said for name, said in env.items()}
        matrix.append(one)
    plan["matrix"] = matrix
    return tomlkit.dumps(plan)


def _wordless(row: Row) -> list[tuple[str, object]]:
    """What a run has that a plan has no word for."""
    sizes = [(name, row[name]) for name in ("cp", "ep", "vpp") if (row[name] or 1) > 1]
    kinds = [("recompute", row["recompute"])] if row["recompute"] == "selective" else []
    kinds += [("dtype", row["dtype"])] if row["dtype"] not in (None, *_DTYPES) else []
    flags = [
        (name, said) for name, said in row["env"].items() if not name.isupper() or said == REDACTED
    ]
    return [*sizes, *kinds, *flags, *row["others"].items()]


def unplanned_words(row: Row) -> Collection[str]:
    """What the runs of a plan go without, in words."""
    told = ", ".join(f"{name}={value}" for name, value in _wordless(row))
    return (f"A plan has no word for {told}: its runs go without.",) if told else ()
