"""A lake with its catalog in a real PostgreSQL, rows in a folder or on S3: both on loopback."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from bench.schema.catalogs import Postgres
from bench.schema.check import check_place
from bench.schema.copies import compact_at
from bench.schema.lake import Lake
from bench.schema.location import home_of, place_of
from bench.schema.opening import open_read
from tests.making import doubted, folder, log
from tests.program import quick
from tests.sharing import (
    at,
    furnished,
    hidden,
    killed,
    needs_lake,
    page,
    raced,
    stored,
    take,
    write,
)
from tests.warm import Child

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(
        shutil.which("pg_ctlcluster") is None, reason="NOT TESTED: PostgreSQL is not installed"
    ),
]
SERVICES = Path(__file__).with_name("services")
PORT, S3_PORT = "15918", "15919"


def control(word: str, base: Path) -> None:
    done = subprocess.run(
        [SERVICES / "postgres.sh", word, base], env={**os.environ, "PORT": PORT}, check=False,
        stdout=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, (base / "log").read_text() if (base / "log").exists() else word


def psql(database: str, text: str) -> None:
    words = ["psql", "-q", "-h", "127.0.0.1", "-p", PORT, "-U", "bench", "-d", database, "-c", text]
    subprocess.run(words, check=True, timeout=60)


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


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of an S3 that fails in a thirtieth of its answers."""
    needs_lake("httpfs")
    if importlib.util.find_spec("moto") is None:
        pytest.skip("NOT TESTED: moto is not installed")
    process = subprocess.Popen(
        [sys.executable, SERVICES / "s3.py", S3_PORT, "0.03", "1"], stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", int(S3_PORT))):
                break
            time.sleep(0.1)
        name = f"bench-moto-{os.getpid()}"
        make = urllib.request.Request(f"http://127.0.0.1:{S3_PORT}/{name}", method="PUT")
        urllib.request.urlopen(make, timeout=60).close()
        yield f"s3://{name}"
    finally:
        process.kill()
        process.wait()


def database() -> Path:
    """A lake to be made, in a database of its own."""
    name = f"lake{os.urandom(4).hex()}"
    subprocess.run(
        ["createdb", "-h", "127.0.0.1", "-p", PORT, "-U", "bench", name], check=True, timeout=60
    )
    return Path(f"ducklake:postgres:dbname={name} host=127.0.0.1 port={PORT} user=bench")


def made(tmp_path: Path, data: str, place: Path) -> Path:
    """An empty lake."""
    done = quick(tmp_path, "db", "info", "--db", str(place))
    assert done.code == 2 and "bench db init" in done.err, done.text
    done = quick(tmp_path, "db", "init", "--db", str(place), "--data", data)
    assert done.code == 0, done.text
    return place


@pytest.fixture
def place(server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty lake with its rows in a folder."""
    at(tmp_path / "here", monkeypatch)
    return made(tmp_path, str(tmp_path / "data"), database())


def test_a_lake_shows_what_a_file_shows_to_who_may_only_read(place: Path, tmp_path: Path) -> None:
    files = folder(tmp_path / "logs", logs=2, tables=2, iterations=4)
    for db in (place, tmp_path / "bench.duckdb"):
        take(files, db)
    assert stored(place) == stored(tmp_path / "bench.duckdb")
    assert home_of(place) == tmp_path, "sources are named from the folder that holds the data"
    database = str(place).partition("dbname=")[2].split()[0]
    psql(database, "DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN;"
                   "GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest")  # fmt: skip
    guest = Path(str(place).replace("user=bench", "user=guest"))
    pages = [
        quick(tmp_path, "report", "--db", str(db)) for db in (guest, tmp_path / "bench.duckdb")
    ]
    assert pages[0].out == pages[1].out and "124M" in pages[0].out, pages[0].text
    (files / "new.log").write_text(log(3))
    done = quick(tmp_path, "ingest", "logs", "--db", str(guest))
    assert done.code == 2 and "permission denied" in done.err and "ask who owns" in done.err, (
        done.text
    )
    psql(database, "DROP OWNED BY guest")


def test_no_error_repeats_a_password(server: Path, tmp_path: Path,
                                     monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setenv("PGPASSWORD", "quietly")
    for words in (f"dbname=nowhere host=127.0.0.1 port={PORT} user=bench",
                  "dbname=lake host=127.0.0.1 port=1 user=bench",
                  f"dbname=lake host=127.0.0.1 port={PORT} user=nobody"):  # fmt: skip
        for command in (["report"], ["ingest", "."], ["db", "init", "--data", "d"]):
            done = quick(tmp_path, *command, "--db", f"ducklake:postgres:{words}")
            assert done.code == 2 and "quietly" not in done.text, done.text
            assert "FATAL" in done.err or "refused" in done.err, done.text


def test_writers_of_the_same_files_store_each_once(place: Path, tmp_path: Path) -> None:
    files = folder(tmp_path / "same", logs=6, tables=2, iterations=4)
    raced(place, tmp_path, [files] * 4)
    found = stored(place)
    assert (found["loads"], found["runs"], found["audits"]) == (8, 8, 2)


@dataclass(frozen=True, slots=True)
class Unguarded(Postgres):
    """A catalog whose lock was lost."""

    @contextmanager
    def guarded(self) -> Iterator[Callable[[], None]]:
        yield lambda: None


def test_a_commit_between_is_a_conflict_without_the_lock_too(place: Path) -> None:
    lake = Lake(Unguarded(str(place).removeprefix("ducklake:postgres:")))
    before = lake.latest()

    def faster() -> None:
        assert lake.commit(before, hidden("faster", lambda: None)) == before + 1

    assert lake.commit(before, hidden("late", faster)) is None
    with open_read(place) as warehouse:
        assert warehouse.rows("SELECT id FROM raw.hidden") == [("faster",)]


def test_kills_leave_whole_files_only(place: Path, tmp_path: Path) -> None:
    files = doubted(tmp_path / "logs", logs=20, tables=2, iterations=20)
    killed(place, tmp_path, files, kills=3, longest_s=4.0)
    take(files, place)
    take(files, tmp_path / "bench.duckdb")
    assert stored(place)["iterations"] == 20 * 20
    assert page(place) == page(tmp_path / "bench.duckdb")


def test_a_restart_of_the_server_beside_writers(server: Path, place: Path, tmp_path: Path) -> None:
    files = folder(tmp_path / "logs", logs=12, tables=0, iterations=5)
    children = [Child(write, furnished(tmp_path / name), files, place, {}) for name in ("a", "b")]
    for _ in range(2):
        time.sleep(2)
        control("restart", server)
    assert [child.end() for child in children] == [0, 0]
    assert stored(place)["iterations"] == 12 * 5


@pytest.fixture
def on_s3(server: Path, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty lake with its rows on S3; at first the bucket is misspelt."""
    at(tmp_path / "here", monkeypatch)
    for name, word in (("ENDPOINT_URL", f"http://127.0.0.1:{S3_PORT}"), ("REGION", "us-east-1"),
                       ("ACCESS_KEY_ID", "key"), ("SECRET_ACCESS_KEY", "quietly")):  # fmt: skip
        monkeypatch.setenv(f"AWS_{name}", word)
    place = database()
    done = quick(tmp_path, "db", "init", "--db", str(place), "--data", f"{bucket}-there-is-none/x")
    assert done.code == 2 and "check the bucket" in done.err and "quietly" not in done.err, (
        done.text
    )
    return made(tmp_path, f"{bucket}/{tmp_path.name}", place)


def sound(place: Path) -> bool:
    """Whether all files that the catalog names are there."""
    with open_read(place) as warehouse:
        return [one.problems for one in check_place(warehouse)] == [()]


def test_rows_on_s3_which_fails_now_and_then(
    on_s3: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = folder(tmp_path / "logs", logs=4, tables=1, iterations=4)
    raced(on_s3, tmp_path, [files] * 2)
    take(files, tmp_path / "bench.duckdb")
    before = stored(on_s3)
    assert before["iterations"] == stored(tmp_path / "bench.duckdb")["iterations"] == 16
    compact_at(on_s3, 5)
    assert place_of(on_s3).collect(timedelta(0)) > 0
    at(tmp_path / "there", monkeypatch)
    assert stored(on_s3) == before
    assert sound(on_s3)


def test_kills_with_rows_on_s3(
    on_s3: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sources of a lake on S3 are named from `/`, where no facts.toml belongs to them."""
    files = doubted(tmp_path / "logs", logs=12, tables=1, iterations=20)
    killed(on_s3, tmp_path, files, kills=4, longest_s=8.0)
    take(files, on_s3)
    assert stored(on_s3)["iterations"] == 12 * 20
    assert sound(on_s3)
    before = page(on_s3)
    at(tmp_path / "there", monkeypatch)
    assert page(on_s3) == before
