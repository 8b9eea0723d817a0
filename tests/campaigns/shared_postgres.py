"""A lake with its catalog in a real PostgreSQL on loopback: writers, kills, a restart.

`pytest tests/campaigns/shared_postgres.py`, with Debian's postgresql and the extra `lake`. The
command line refuses such a catalog until all of it has passed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.schema.place import place_of
from tests.making import folder
from tests.sharing import at, killed, needs_lake, raced, stored, take

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(
        shutil.which("pg_ctlcluster") is None, reason="NOT TESTED: PostgreSQL is not installed"
    ),
]
SCRIPT = Path(__file__).parents[1] / "services" / "postgres.sh"
PORT = "15918"


def control(word: str, base: Path) -> None:
    done = subprocess.run(
        [SCRIPT, word, base], env={**os.environ, "PORT": PORT}, stdout=subprocess.DEVNULL,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (base / "log").read_text() if (base / "log").exists() else word


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """Where it keeps its data: the user postgres cannot look into pytest's own folders."""
    needs_lake("postgres_scanner")
    base = Path("/tmp") / f"bench-postgres-{os.getpid()}"
    control("up", base)
    try:
        yield base
    finally:
        control("down", base)
        shutil.rmtree(base)


@pytest.fixture
def place(server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty lake; each test has a database of its own."""
    at(tmp_path / "here", monkeypatch)
    monkeypatch.chdir(tmp_path)
    name = f"lake{os.urandom(4).hex()}"
    subprocess.run(
        ["createdb", "-h", "127.0.0.1", "-p", PORT, "-U", "bench", name], check=True, timeout=60
    )
    place = Path(f"ducklake:postgres:dbname={name} host=127.0.0.1 port={PORT} user=bench")
    assert not place_of(place).exists()
    place_of(place).create(tmp_path / "data")
    return place


def test_writers_of_the_same_files_store_each_once(place: Path, tmp_path: Path) -> None:
    files = folder(tmp_path / "same", logs=6, tables=2, iterations=4)
    raced(place, tmp_path, [files] * 4)
    found = stored(place)
    assert (found["loads"], found["runs"], found["audits"]) == (8, 8, 2)


def test_kills_leave_whole_files_only(place: Path, tmp_path: Path) -> None:
    files = folder(tmp_path / "logs", logs=20, tables=0, iterations=20)
    killed(place, tmp_path, files, kills=5, longest_s=4.0)
    take(files, place)
    assert stored(place)["iterations"] == 20 * 20


def test_a_restart_of_the_server_loses_nothing(server: Path, place: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        take(folder(tmp_path / f"logs{number}", logs=number, tables=0, iterations=number), place)
        control("restart", server)
    assert stored(place)["loads"] == 3
