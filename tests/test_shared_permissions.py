"""Files of a shared place have the permissions of its folder, whatever a writer's umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest
from bench.schema.location import place_of
from tests.making import folder
from tests.sharing import at, needs_lake


@pytest.fixture(autouse=True)
def tight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A umask that keeps others out, as on many login nodes."""
    at(tmp_path / "here", monkeypatch)
    before = os.umask(0o077)
    yield
    os.umask(before)


def modes(place: Path) -> set[int]:
    """The permissions of all files and folders."""
    return {
        stat.S_IMODE(one.stat().st_mode) & 0o777
        for one in place.rglob("*")
        if one.suffix != ".lock"
    }


@pytest.mark.parametrize(
    ("shared", "files"),
    [(0o2770, {0o770, 0o660}), (0o2775, {0o775, 0o664}), (0o775, {0o700, 0o600})],
)
@pytest.mark.parametrize("form", ["folder", "sqlite"])
def test_a_group_shares_what_its_folder_shares(
    form: str, shared: int, files: set[int], tmp_path: Path
) -> None:
    if form == "sqlite":
        needs_lake("sqlite_scanner")
    team = tmp_path / "team"
    team.mkdir()
    team.chmod(shared)
    name = "folder:{}/bench" if form == "folder" else "ducklake:sqlite:{}/bench.sqlite"
    db = Path(name.format(team))
    place_of(db).create(None)
    ingest([folder(tmp_path / "logs", logs=1, tables=1, iterations=3)], db)
    assert modes(team) == files
    assert os.umask(0o077) == 0o077  # as it was
