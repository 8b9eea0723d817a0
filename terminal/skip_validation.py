"""Plain values of options taken as they are, so that a start does not wait for typer's checks.

Typer 0.29 checks every value with pydantic, which takes as long to import as DuckDB. A path, a
text or the exact word of a choice needs no check; all else, and every other typer, goes its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

if TYPE_CHECKING:
    from typer._click import Command, Context


class _Unknown:
    """The value of what is not plain."""


class _Light:
    """Stands where typer keeps its check of one parameter, until a value needs that."""

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:  # Any: typer's own signature
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        described = param.type_descriptor
        if described.parameter_info.parser is None:
            plain = _plain(described.annotation, value)
            if plain is not _Unknown:
                return plain
        param._runtime_param = None  # typer makes its own where there is none
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def skip_validation(command: Command, ctx: Context) -> None:
    """Let the parameters of a command take plain values without a check."""
    for parameter in command.get_params(ctx):  # --help too
        if hasattr(parameter, "_runtime_param") and hasattr(parameter, "get_runtime_param"):
            parameter._runtime_param = _Light()


def _plain(kind: Any, value: Any) -> Any:  # Any: an annotation, and what a user typed
    if get_origin(kind) is list and isinstance(value, Sequence) and not isinstance(value, str):
        made = [_plain(get_args(kind)[0], item) for item in value]
        return _Unknown if _Unknown in made else made
    if kind is str and isinstance(value, str):
        return value
    if kind is Path and isinstance(value, (str, Path)):
        return Path(value)
    if kind in (bool, float) and type(value) is kind:
        return value
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((one for one in kind if value in (one, one.value)), _Unknown)
    return _Unknown
