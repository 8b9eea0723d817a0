"""`bench launch`: execute the runs of a plan, and record their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..decide.query import TableRef
from ..launch.plan import Limits, Plan, Settings
from ..terminal import options as o
from ..terminal.source import Source


def _option(field: Any, flag: str, kind: type, **more: Any) -> tuple[Any, object]:
    """A key of a plan as an option, with the help text of the plan's schema."""
    option = typer.Option(flag, help=field.description, show_default=False, **more)
    return Annotated[kind | None, option], None


_PLAN, _LIMIT = Plan.model_fields, Limits.model_fields
# Common keys of `[settings]` for a single run; others are given with --set.
_SETTINGS = {
    "model": str, "layers": int, "dp": int, "tp": int, "pp": int, "mbs": int, "gbs": int,
    "zero_stage": int, "recompute": str, "dtype": str, "iterations": int,
}  # fmt: skip
SETTINGS: o.Options = {
    name: _option(Settings.model_fields[name], f"--{name.replace('_', '-')}", kind)
    for name, kind in _SETTINGS.items()
}
# Keys of a plan that apply to all of its runs.
OVERALL: o.Options = {
    "env": _option(_PLAN["env"], "--env", list[str], metavar="NAME=VALUE"),
    "repeats": _option(_PLAN["repeats"], "--repeats", int),
}
LIMITS: o.Options = {
    "time_s": _option(_LIMIT["time_s"], "--time-limit", float),
    "idle_s": _option(_LIMIT["idle_s"], "--idle-limit", float),
    "memory_gb": _option(_LIMIT["memory_gb"], "--memory-limit", float),
}


@o.command(source=("db",), groups={"settings": SETTINGS, "overall": OVERALL, "limits": LIMITS})
def launch(
    source: Source,
    settings: Mapping[str, object],
    overall: Mapping[str, object],
    limits: Mapping[str, object],
    plan: Annotated[
        Path | None,
        typer.Argument(metavar="PLAN", help="Plan (TOML). Default: a single run from options."),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other setting, e.g. seq_len=128."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands without running them.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Rerun failed runs.")] = False,
    missing: Annotated[
        TableRef | None,
        typer.Option(
            "--missing",
            metavar="FILE[:N]",
            parser=o.parse_table,
            show_default=False,
            help="Write a plan for table rows without a result.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Run directory (with --missing: plan file). Default: launches/PLAN.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run the remaining runs of a plan; exit 1 unless all are ok."""
    from ..terminal import launching

    request = launching.Request(
        source, plan, settings, overall, limits, more or (), dry_run, retry, output
    )
    if missing is not None:
        launching.missing(missing, request)
        return
    raise typer.Exit(launching.launch(request))
