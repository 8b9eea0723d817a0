"""TOML that somebody else wrote: every way in which it can be wrong is one error."""

from __future__ import annotations

import tomllib
from tomllib import TOMLDecodeError as TOMLDecodeError
from typing import Any

LARGEST = 4 << 20  # characters
DEEPEST = 50  # tables within tables; what shows or checks values goes as deep as they do


def loads(text: str) -> dict[str, Any]:  # Any: TOML's values
    """The values of a text; raises TOMLDecodeError, also for what is too large or too deep."""
    if len(text) > LARGEST:
        raise TOMLDecodeError(f"larger than {LARGEST >> 20} MiB")
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise TOMLDecodeError(f"nested deeper than {DEEPEST} levels") from None
    except TOMLDecodeError:
        raise
    except ValueError as error:  # a number or a date that Python does not take
        raise TOMLDecodeError(str(error)) from error
    level: list[object] = [values]
    for _ in range(DEEPEST):
        level = [item for value in level for item in _items(value)]
        if not level:
            return values
    raise TOMLDecodeError(f"nested deeper than {DEEPEST} levels")


def _items(value: object) -> list[object]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []
