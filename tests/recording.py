"""Records as their files hold them, for the tests of records."""

import json
from pathlib import Path
from typing import Any


def all_json(folder: Path) -> list[dict[str, Any]]:
    """Every JSON file below a folder, in the order of their names."""
    return [json.loads(path.read_bytes()) for path in sorted(folder.rglob("*.json"))]


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its name from there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
