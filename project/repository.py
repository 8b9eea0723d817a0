"""The repository around a folder: its `bench.toml`, its root, and which paths are within it."""

from __future__ import annotations

from pathlib import Path

from ..schema.errors import BenchError

FILE = "bench.toml"


def find_file(cwd: Path) -> Path | None:
    """The nearest `bench.toml`, not above a folder with `.git`."""
    for folder in (cwd.absolute(), *cwd.absolute().parents):
        if (folder / FILE).is_file():
            return folder / FILE
        if (folder / ".git").exists():
            return None
    return None


def find_home(cwd: Path) -> Path:
    """The root of source names: the folder of `bench.toml`, else the checkout, else `cwd`."""
    file = find_file(cwd)
    if file:
        return file.parent
    above = (cwd.absolute(), *cwd.absolute().parents)
    return next((folder for folder in above if (folder / ".git").exists()), cwd.absolute())


def inside(folder: Path, named: str) -> Path:
    """Resolve a path in a file of a repository, relative to that file's folder.

    Raises BenchError for a target outside of the repository, with links resolved, and for git's
    own files: the file is untrusted and must not expose other files of the user.
    """
    path = folder / named
    require_inside(checkout_of(folder), path, named)
    return path


def require_inside(home: Path, path: Path, named: str) -> None:
    """Raises BenchError for a path that leads out of a checkout, or to git's own files."""
    real = path.resolve()
    # ".GIT" is the same folder where case makes no difference.
    if not real.is_relative_to(home) or ".git" in map(str.lower, real.relative_to(home).parts):
        raise BenchError(
            f"{named!r} is outside {find_home(home).name or home}",
            hint="use a path within the repository",
        )


def checkout_of(folder: Path) -> Path:
    """The checkout around a folder, else the folder of `bench.toml`, else the folder itself; with
    links resolved."""
    real = folder.resolve()
    found = next((each for each in (real, *real.parents) if (each / ".git").exists()), None)
    return found or find_home(real).resolve()
