"""Workers that are jobs of a real Slurm on loopback, submitted by its commands and by those of PBS.

Debian has no server of PBS. Its package slurm-wlm-torque has qsub and qdel, which read the same
scripts and pass the jobs to Slurm.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.making import everything, folder
from tests.program import bench, environment

pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("slurmctld") is None,
        reason="NOT TESTED: Slurm is not installed, or this is not root",
    ),
]
SCRIPT = Path(__file__).with_name("services") / "slurm.sh"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a Slurm that runs, and of workers on loopback."""
    base = tmp_path_factory.mktemp("slurm")
    env = {**os.environ, "ACCOUNTING": "no", "PORT": "16957"}
    try:
        with (base / "up.log").open("w") as log:  # daemons hold on to what they are given
            done = subprocess.run(
                [SCRIPT, "up", base], env=env, stdout=log, stderr=log, check=False
            )
        assert done.returncode == 0, (base / "up.log").read_text()
        conf = str(base / "etc" / "slurm.conf")
        settings = {
            f"DASK_JOBQUEUE__{kind}__{name}": value
            for kind in ("SLURM", "PBS")
            for name, value in (("INTERFACE", "lo"), ("MEMORY", "1GB"))
        }
        yield {"SLURM_CONF": conf, **settings}
    finally:
        subprocess.run([SCRIPT, "down", base], env=env, check=True, timeout=120)


@pytest.mark.parametrize(("kind", "submits"), [("slurm", "sbatch"), ("pbs", "qsub")])
def test_jobs_read_and_end(kind: str, submits: str, slurm: dict[str, str], tmp_path: Path) -> None:
    if shutil.which(submits) is None:
        pytest.skip(f"NOT TESTED: {submits} is not installed")
    folder(tmp_path / "logs", logs=12, tables=3, iterations=50)
    done = bench(tmp_path, "ingest", "logs", "--cluster", f"{kind}:2", env=slurm, timeout=300)
    assert done.code == 0 and "cluster: waiting for the first worker" in done.err, done.text
    assert "read by this machine" not in done.err, done.text
    assert bench(tmp_path, "ingest", "logs", "--db", "alone.duckdb").code == 0
    on_jobs, alone = everything(tmp_path / "bench.duckdb"), everything(tmp_path / "alone.duckdb")
    for each in (on_jobs, alone):
        each.pop("newest_audits")  # whose names are drawn
    assert on_jobs == alone
    queue = ["squeue", "-h", "-t", "pending,running"]
    left = subprocess.run(queue, env=environment(slurm), capture_output=True, text=True, check=True)
    assert left.stdout == ""


def test_a_refused_job_is_reported(slurm: dict[str, str], tmp_path: Path) -> None:
    folder(tmp_path / "logs")
    env = {**slurm, "DASK_JOBQUEUE__SLURM__QUEUE": "nowhere"}
    done = bench(tmp_path, "ingest", "logs", "--cluster", "slurm", env=env, timeout=120)
    assert done.code == 2, done.text
    assert "invalid partition specified: nowhere" in done.err and "Traceback" not in done.err
