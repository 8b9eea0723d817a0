"""Untrusted TOML: every problem raises the same error."""

from __future__ import annotations

import tomllib
from tomllib import TOMLDecodeError as TOMLDecodeError
from typing import Any

LARGEST = 4 << 20  # characters
DEEPEST = 50  # nesting of tables; code that shows or checks values recurses as deep


def loads(text: str) -> dict[str, Any]:  # Any: TOML's values
    """The values of a text; raises TOMLDecodeError, also for excessive size or depth."""
    if len(text) > LARGEST:
        raise TOMLDecodeError(f"larger than {LARGEST >> 20} MiB")
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise TOMLDecodeError(f"nested deeper than {DEEPEST} levels") from None
    except TOMLDecodeError:
        raise
    except ValueError as error:  # an invalid number or date for Python
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
