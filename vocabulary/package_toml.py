"""The package's own TOML files, parsed once a version."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from .package_cache import cached


@cache
def declared(package: str, name: str) -> Mapping[str, Any]:  # Any: TOML's values
    """The values of a file of a package."""
    file = files(package) / name
    return cached(
        f"toml_{name.removesuffix('.toml')}", [file], lambda: _parsed(file.read_text("utf-8"))
    )


@cache
def declarations(package: str, folder: str) -> Mapping[str, Any]:
    """The values of all files of a folder, by their names without `.toml`."""
    found = sorted((files(package) / folder).iterdir(), key=lambda file: file.name)
    texts = {file.name.removesuffix(".toml"): file for file in found if file.name.endswith(".toml")}
    return cached(
        f"tomls_{folder}",
        [*texts.values()],
        lambda: {name: _parsed(file.read_text("utf-8")) for name, file in texts.items()},
    )


def _parsed(text: str) -> dict[str, Any]:
    import tomllib  # only where no cache has it

    return tomllib.loads(text)
