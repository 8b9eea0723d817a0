"""`bench launch`: run what a plan says, and keep how each run ended."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...reports.table_ref import TableRef
from .. import options as o


def launch(
    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="A plan (TOML); none: a run by flags.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Preset: nano, tiny, 10m, 124m, 350m, 1.3b, ...")
    ] = None,
    layers: Annotated[int | None, typer.Option("--layers", help="Transformer layers.")] = None,
    dp: Annotated[int | None, typer.Option("--dp", help="Data-parallel size.")] = None,
    tp: Annotated[int | None, typer.Option("--tp", help="Tensor-parallel size.")] = None,
    pp: Annotated[int | None, typer.Option("--pp", help="Pipeline-parallel size.")] = None,
    mbs: Annotated[int | None, typer.Option("--mbs", help="Micro-batch in sequences.")] = None,
    gbs: Annotated[int | None, typer.Option("--gbs", help="Global batch in sequences.")] = None,
    zero_stage: Annotated[int | None, typer.Option("--zero-stage", help="ZeRO, 0 to 3.")] = None,
    recompute: Annotated[str | None, typer.Option("--recompute", help="none or full.")] = None,
    dtype: Annotated[str | None, typer.Option("--dtype", help="fp32, bf16, or fp16.")] = None,
    iterations: Annotated[int | None, typer.Option("--iterations", help="Optimizer steps.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other setting: seq_len=128."),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME=VALUE", help="A variable of the environment."),
    ] = None,
    repeats: Annotated[int | None, typer.Option("--repeats", help="Runs of the setting.")] = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", help="Longest time of a run, in s.")
    ] = None,
    idle_limit: Annotated[
        float | None, typer.Option("--idle-limit", help="Longest time without output, in s.")
    ] = None,
    memory_limit: Annotated[
        float | None,
        typer.Option("--memory-limit", help="Most memory of a run (of a job: a node), in GiB."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands, and run nothing.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Run what failed again.")] = False,
    missing: Annotated[
        TableRef | None,
        typer.Option(
            "--missing",
            metavar="FILE[:N]",
            parser=o.parse_table,
            show_default=False,
            help="Write a plan for the rows of a table without a result.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Folder of the runs; of --missing, the file. Default: launches/PLAN.",
            show_default=False,
        ),
    ] = None,
    db: o.Db = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Run what a plan says and is not done yet; exit 1 when a run of it is not ok."""
    from .. import launching

    flags = {
        "model": model, "layers": layers, "dp": dp, "tp": tp, "pp": pp, "mbs": mbs, "gbs": gbs,
        "zero_stage": zero_stage, "recompute": recompute, "dtype": dtype, "iterations": iterations,
    }  # fmt: skip
    limits = {"time_s": time_limit, "idle_s": idle_limit, "memory_gb": memory_limit}
    asked = launching.Asked(
        plan, flags, env or (), set_ or (), repeats, limits, dry_run, retry, output, db,
        lock_timeout,
    )  # fmt: skip
    if missing is not None:
        launching.missing(missing, asked)
        return
    raise typer.Exit(launching.launch(asked))
