"""Takes plain option values without typer's validation, for a fast start.

Typer 0.29 validates every value with pydantic, which takes as long to import as DuckDB. Paths,
texts and exact choices need no validation; everything else is left to typer, as in other versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

if TYPE_CHECKING:
    from typer._click import Command, Context


class _Unknown:
    """Sentinel for values that are not plain."""


class _Light:
    """Replaces typer's validator of one parameter until a value needs it."""

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:  # Any: typer's signature
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        described = param.type_descriptor
        if described.parameter_info.parser is None:
            plain = _plain(described.annotation, value)
            if plain is not _Unknown:
                return plain
        param._runtime_param = None  # typer creates its own if there is none
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def skip_validation(command: Command, ctx: Context) -> None:
    """Install the lazy validators for the parameters of a command."""
    for parameter in command.get_params(ctx):  # --help too
        if hasattr(parameter, "_runtime_param") and hasattr(parameter, "get_runtime_param"):
            parameter._runtime_param = _Light()


def _plain(kind: Any, value: Any) -> Any:  # Any: an annotation, and a user's value
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
