"""Files read on a cluster give what the plain command makes of them, whoever dies meanwhile."""

from __future__ import annotations

import importlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import psutil
import pyarrow as pa
import pytest

from bench.ingest import version
from bench.ingest.files import cluster as clusters
from bench.ingest.files import prefetch
from bench.ingest.files.batches import NAME, pack, staging, unpacked
from bench.ingest.files.cluster import opened
from bench.ingest.files.pipeline import ingest
from bench.ingest.files.summary import Summary
from bench.schema.errors import BenchError
from bench.schema.location import scratch_of
from tests.clusters import METHOD, read, running
from tests.making import count, everything, folder, iteration, log, whole
from tests.program import bench, environment, quick, told
from tests.sharing import made
from tests.warm import Child

pytestmark = pytest.mark.slow
LOOPBACK = {"interface": "lo", "scheduler-options": {"dashboard_address": "127.0.0.1:0"}}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("workers")) as address:
        yield address


@pytest.fixture
def files(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Logs, tables, an archive, copies, a long log, a packed one, and what is no log."""
    monkeypatch.setattr(prefetch, "_CHUNK_FILES", 4)
    files = folder(tmp_path / "files", logs=9)
    for document in sorted((data / "tables").glob("00*.md"))[:4]:
        shutil.copy(document, files)
    shutil.copy(files / "run004.log", files / "a_copy.log")
    (files / "long.log").write_text(log(3000))
    (files / "empty.log").touch()
    (files / "binary.log").write_bytes(bytes(range(256)) * 9999)
    with tarfile.open(files / "packed.tar", "w") as archive:
        archive.add(files / "run001.log", "other.log")
    return files


def read_on(address: str, paths: list[Path], db: Path, **more: Any) -> Summary:
    """What `bench ingest --cluster` does; nothing is left beside the warehouse."""
    with opened(address, scratch_of(db), print) as cluster:
        summary = ingest(paths, db, cluster=cluster, **more)
        assert cluster.unseen == 0
    assert not list(db.parent.rglob(NAME))
    return summary


def test_the_same_rows_as_the_plain_command(files: Path, tmp_path: Path, address: str) -> None:
    one, two = tmp_path / "one.duckdb", tmp_path / "two.duckdb"
    plain = ingest([files, files / "packed.tar"], one)
    assert read_on(address, [files, files / "packed.tar"], two) == plain
    assert plain.new > 12 and plain.copies and plain.skipped
    assert everything(two) == everything(one)
    with (files / "long.log").open("a") as file:  # its reader goes on where a worker stopped
        file.write(iteration(3001))
    (files / "run003.log").write_text(log(7))
    (files / "new.log").write_text(log(8))
    plain = ingest([files], one)
    assert (plain.new, plain.grown, plain.changed) == (3, 1, 1)
    assert read_on(address, [files], two) == plain
    assert everything(two) == everything(one)


def test_files_that_other_code_has_read(files: Path, tmp_path: Path, address: str) -> None:
    """All of an archive is read again after an upgrade: by the workers."""
    one, two, formats = tmp_path / "one.duckdb", tmp_path / "two.duckdb", tmp_path / "formats"
    formats.mkdir()
    for db in (one, two):
        ingest([files], db)
    (files / "run003.log").write_text(log(7))
    plain = ingest([files], one, formats=formats)
    assert read_on(address, [files], two, formats=formats) == plain
    assert plain.new > 12 and everything(two) == everything(one)


@pytest.mark.parametrize("form", ["folder", "sqlite"])
def test_a_shared_warehouse(form: str, files: Path, tmp_path: Path, address: str) -> None:
    place, alone = made(form, tmp_path), tmp_path / "alone.duckdb"
    with opened(address, scratch_of(place), print) as cluster:
        ingest([files], place, cluster=cluster)
        assert cluster.folder and cluster.folder.is_relative_to(tmp_path)
    assert not list(tmp_path.rglob(NAME))
    ingest([files], alone)
    assert everything(place) == everything(alone)


def test_a_killed_worker_costs_a_retry(files: Path, tmp_path: Path) -> None:
    before, killed = dict(os.environ), list[int]()

    def kill(_: str) -> None:
        every = psutil.Process().children(recursive=True)
        workers = [one for one in every if "spawn_main" in " ".join(one.cmdline())]
        if not killed:
            killed.extend(one.pid for one in workers)
            for worker in workers:
                worker.kill()

    one, two = tmp_path / "one.duckdb", tmp_path / "two.duckdb"
    plain = ingest([files], one)
    with dask.config.set({METHOD: "spawn"}):  # as where no tests fork
        assert read_on("local:1", [files], two, progress=kill) == plain
    assert killed and everything(two) == everything(one)
    assert dict(os.environ) == before, "Dask sets OMP_NUM_THREADS and others where workers start"


def test_poison_is_told_and_all_else_is_read(files: Path, tmp_path: Path, address: str) -> None:
    plain = ingest([files], tmp_path / "one.duckdb")
    (files / "fatal.log").write_text(log(3))
    (files / "run006_broken.log").write_text(log(4))
    summary = read_on(address, [files], tmp_path / "two.duckdb")
    assert summary.failed == [
        ("files/fatal.log", "reading it ended its process 3 times"),
        ("files/run006_broken.log", "RuntimeError: cannot read this"),
    ]
    assert summary.uris == plain.uris
    assert everything(tmp_path / "two.duckdb") == everything(tmp_path / "one.duckdb")


def test_a_killed_committer_stores_whole_files_only(tmp_path: Path, address: str) -> None:
    files = folder(tmp_path / "logs", logs=40, tables=10, iterations=40)
    (tmp_path / "shelf").mkdir()
    db, chance, partly, left = tmp_path / "shelf" / "bench.duckdb", random.Random(24), 0, 0
    for number in range(5):
        seen = tmp_path / f"seen{number}"
        child, until = Child(read, files, db, address, seen), chance.randrange(12, 45)
        while child.process.is_alive() and not (seen.exists() and seen.stat().st_size >= until):
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.1))
        child.kill()
        child.end()
        partly += db.exists() and 0 < whole(db, 40) < 50
        left += bool(list(db.parent.rglob(NAME)))
    assert partly and left, "the kills came too early or too late to prove anything"
    child = Child(read, files, db, address, tmp_path / "seen")
    assert child.end() == 0 and whole(db, 40) == 50
    assert not list(db.parent.rglob(NAME)), "a rerun clears it"
    ingest([files], tmp_path / "alone.duckdb")
    assert count(db, "iterations") == count(tmp_path / "alone.duckdb", "iterations")


def test_the_command(tmp_path: Path) -> None:
    folder(tmp_path / "logs")
    done = bench(tmp_path, "ingest", "logs", "--cluster", "local:1")
    assert done.code == 0 and count(tmp_path / "bench.duckdb", "runs") == 5, done.text
    assert "cluster: 1 workers, dashboard at http://127.0.0.1:" in done.err
    assert "distributed" not in done.err and "Warning" not in done.err, done.err


def test_what_is_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path / "logs", logs=1, tables=0)
    monkeypatch.setattr(clusters, "_TIMEOUT_S", 1)
    words = ("ingest", "logs", "--cluster")
    nobody = "tcp://127.0.0.1:9"
    told(quick(tmp_path, *words, nobody), 2, "no scheduler of Dask answers at tcp://127.0.0.1:9")
    told(quick(tmp_path, *words, "lokal"), 2, "no such cluster: lokal", "slurm[:JOBS]")
    told(quick(tmp_path, *words, "local:0"), 2, "no such cluster")
    monkeypatch.setenv("PATH", "")
    told(quick(tmp_path, *words, "pbs:2"), 2, "no pbs here", "qsub is not installed")
    monkeypatch.setitem(sys.modules, "distributed", None)
    told(
        quick(tmp_path, *words, "local"), 2, "needs Dask", "pip install 'bench-warehouse[cluster]'"
    )
    told(quick(tmp_path, *words, "local", "--history"), 2, "--cluster does not go with --history")
    assert not (tmp_path / "bench.duckdb").exists()


def test_workers_of_another_version_are_refused(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = folder(tmp_path / "logs")
    monkeypatch.setattr(version, "PARSER_VERSION", 1)
    with pytest.raises(BenchError, match="other code than this machine"):
        read_on(address, [files], tmp_path / "bench.duckdb")


def test_staged_rows_are_whole_or_refused(tmp_path: Path) -> None:
    rows = pa.table({"line": list(range(900_000)), "text": ["a", None, "b"] * 300_000})
    with staging(tmp_path) as place:
        assert place is not None
        packed = pack([[("cells", rows)], [], [("cells", rows.to_reader()), ("runs", rows)]], place)
        assert packed.data is None
        with unpacked(packed, place) as groups:
            found = [[(name, reader.read_all()) for name, reader in group] for group in groups]
        assert found == [[("cells", rows)], [], [("cells", rows), ("runs", rows)]]
        assert not list(place.iterdir())
        packed = pack([[("cells", rows)]], place)
        (place / packed.sha256).write_bytes((place / packed.sha256).read_bytes()[:-1])
        with pytest.raises(OSError, match="is damaged"), unpacked(packed, place):
            pass
        gone = place.with_name(f"{place.name.rpartition('-')[0]}-{2**22 + 1}")
        other = place.with_name("elsewhere-1")
        gone.mkdir()
        other.mkdir()
        with staging(tmp_path):
            assert other.exists() and not gone.exists()


@pytest.mark.parametrize("kind", ["slurm", "pbs"])
def test_the_job_scripts(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sbatch", "qsub"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    lo = {f"jobqueue.{kind}.{name}": value for name, value in LOOPBACK.items()}
    importlib.import_module("dask_jobqueue")  # its defaults come before ours
    with dask.config.set(lo), clusters.queued(kind, tmp_path) as cluster:
        script = cluster.job_script().replace(cluster.scheduler_address, "ADDRESS")
    head = {
        "slurm": "#SBATCH -J dask-worker\n#SBATCH -n 1\n#SBATCH --cpus-per-task=1\n"
        "#SBATCH --mem=4G\n#SBATCH -t 00:30:00\n",
        "pbs": "#PBS -N dask-worker\n#PBS -l select=1:ncpus=1:mem=3815MB\n"
        "#PBS -l walltime=00:30:00\n",
    }
    assert re.sub(r"--tls-([a-z-]+) \S+/\.dask-jobqueue\S+", r"--tls-\1 FILE", script) == (
        f"#!/usr/bin/env bash\n\n{head[kind]}export PYTHONSAFEPATH=1 OPENBLAS_NUM_THREADS=1\n"
        f"{sys.executable} -m distributed.cli.dask_worker ADDRESS --name dummy-name --nthreads 1"
        " --memory-limit 3.73GiB --nanny --death-timeout 60 --interface lo --protocol tls://"
        " --tls-ca-file FILE --tls-cert FILE --tls-key FILE\n"
    )


def started(folder: Path, address: str) -> subprocess.Popen[str]:
    """`bench ingest --cluster`, when its cluster has started."""
    words = [sys.executable, "-m", "bench", "ingest", "logs", "--cluster", address]
    child = subprocess.Popen(
        words, cwd=folder, env=environment(), text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stderr is not None and "dashboard" in (line := child.stderr.readline()), line
    return child


def test_an_interrupt_ends_every_process(tmp_path: Path) -> None:
    folder(tmp_path / "logs", logs=60, tables=0, iterations=2500)
    child = started(tmp_path, "local:2")
    others = psutil.Process(child.pid).children(recursive=True)
    os.killpg(child.pid, signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (130, "interrupted\n")
    assert len(others) >= 2 and psutil.wait_procs(others, timeout=20)[1] == []
    assert not list(tmp_path.rglob(NAME))


def test_a_lost_scheduler_is_reported(tmp_path: Path) -> None:
    folder(tmp_path / "logs", logs=60, tables=0, iterations=2500)
    program = "from tests.clusters import running; import pathlib, sys\n"
    program += (
        "if __name__ == '__main__':\n with running(pathlib.Path(sys.argv[1]), 1) as address:\n"
    )
    program += "  print(address, flush=True); sys.stdin.read()"
    script = tmp_path / "scheduler.py"
    script.write_text(program)
    env = environment({"PYTHONPATH": str(Path(__file__).parents[1])})
    words = [sys.executable, str(script), str(tmp_path)]
    scheduler = subprocess.Popen(
        words, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert scheduler.stdout is not None
    child = started(tmp_path, scheduler.stdout.readline().strip())
    scheduler.kill()
    scheduler.communicate()
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 2, errors
    assert "the cluster is lost" in errors and "Traceback" not in errors, errors
