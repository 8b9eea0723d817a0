"""The place of a warehouse: a file of one machine, or a place shared by many machines.

`--db` names a file, `folder:DIR`, or a lake by its catalog: `ducklake:FILE.ducklake`,
`ducklake:sqlite:FILE`, `ducklake:postgres:dbname=NAME host=HOST`. A shared place (`commits.py`) is
read and written through a replica, a warehouse file of this machine (`replica.py`).
"""

from __future__ import annotations

import re
from pathlib import Path

from .commits import Place, refuse_secret
from .errors import BenchError

FOLDER, LAKE = "folder:", "ducklake:"
_CATALOG = re.compile(r"ducklake:(?:(?P<kind>sqlite|postgres):)?(?P<name>.+)", re.S)
_NAMED = "folder:DIR, ducklake:FILE.ducklake, ducklake:sqlite:FILE, ducklake:postgres:dbname=NAME"


def is_shared(path: Path) -> bool:
    """Whether a name is that of a shared place."""
    return str(path).startswith((FOLDER, LAKE))


def place_of(path: Path) -> Place:
    """The shared place of a name; raises BenchError for an invalid one."""
    if (name := str(path)).startswith(FOLDER):
        from .folder import Folder

        return Folder(Path(name.removeprefix(FOLDER)))
    from .catalogs import catalog_of
    from .lake import Lake

    return Lake(catalog_of(*_catalog(name)))


def _catalog(name: str) -> tuple[str, str]:
    """The kind of a lake's catalog (`duckdb`, `sqlite`, `postgres`) and its name."""
    found = _CATALOG.fullmatch(name)
    if found is None:
        raise BenchError(f"{LAKE} lacks its catalog", hint=_NAMED)
    return found["kind"] or "duckdb", found["name"]


def located(name: str | Path, folder: Path) -> Path:
    """A warehouse's name relative to a folder, made absolute, also within the name of a place.

    Raises BenchError for a name with a password, or a lake with an unsupported catalog.
    """
    text = str(name)
    refuse_secret(text)
    if not is_shared(Path(text)):
        return folder / Path(text).expanduser()
    if text.startswith(FOLDER):
        head, path = FOLDER, text.removeprefix(FOLDER)
    else:
        kind, path = _catalog(text)
        if kind == "postgres":
            if "=" not in path:
                raise BenchError(
                    f"{path!r} names no database",
                    hint="ducklake:postgres:dbname=NAME host=HOST user=NAME",
                )
            return Path(text)
        head = text.removesuffix(path)
    return Path(head + str(folder / Path(path).expanduser()))


def path_of(path: Path) -> Path | None:
    """The path of the file or the folder of a warehouse; None for one on a server."""
    text = str(path)
    if text.startswith(FOLDER):
        return Path(text.removeprefix(FOLDER))
    if text.startswith(LAKE):
        kind, name = _catalog(text)
        return None if kind == "postgres" else Path(name)
    return path


def home_of(path: Path) -> Path:
    """The folder that paths of sources are relative to: that of the file or the place.

    Raises BenchError if it needs a lake that is missing.
    """
    return place_of(path).home if is_shared(path) else path.absolute().parent


def require_place(path: Path) -> None:
    """Raises BenchError if no warehouse has been created at a shared place."""
    if not place_of(path).exists():
        raise BenchError(f"no warehouse at {path}", hint=f"bench db init --db '{path}' makes one")


def is_there(path: Path) -> bool:
    """Whether there is a warehouse of this name; raises BenchError if that is unknown."""
    return place_of(path).exists() if is_shared(path) else path.exists()


def scratch_of(path: Path) -> Path | None:
    """A folder that all writers of the warehouse can write to; None for rows on S3."""
    return place_of(path).scratch if is_shared(path) else path.absolute().parent
