"""Job scripts word for word."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from bench.launch.launcher import Job, Scheduler, layout_error
from bench.launch.launchers.pbs import Pbs
from bench.launch.launchers.pjm import Pjm
from bench.launch.launchers.slurm import Slurm

WORDS = ["python3", "-m", "bench.trainer.train", "--dp", "8"]


def job(
    tasks: int = 1, nodes: int = 1, ranks: int = 4, threads: int | None = 12, **options: object
) -> Job:
    runs = [Path(f"/runs/r{number}") for number in range(tasks)]
    return Job(
        "sweep-1", Path("/runs/jobs/1/job.sh"), [run / "command.sh" for run in runs],
        [run / "r.log" for run in runs], nodes, ranks, threads, 5400.0, 28.0, options,
    )  # fmt: skip


GOLD = [
    (
        Slurm(),
        job(threads=None, account="proj", partition="gpu"),
        """\
        #!/bin/sh
        #SBATCH --job-name=sweep-1
        #SBATCH --nodes=1
        #SBATCH --ntasks-per-node=1
        #SBATCH --time=1:30:00
        #SBATCH --mem=28672M
        #SBATCH --exclusive
        #SBATCH --account=proj
        #SBATCH --partition=gpu
        #SBATCH --open-mode=append

        exec sh /runs/r0/command.sh
        """,
    ),
    (
        Slurm(),
        job(tasks=2, nodes=2, ranks=8, exclusive=False),
        """\
        #!/bin/sh
        #SBATCH --job-name=sweep-1
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        #SBATCH --cpus-per-task=48
        #SBATCH --time=1:30:00
        #SBATCH --mem=28672M
        #SBATCH --open-mode=append
        #SBATCH --array=0-1

        export PET_RDZV_ENDPOINT="$(HOSTS | head -n 1):$((20000 + (SLURM_JOB_ID) % 12000))"
        case "$SLURM_ARRAY_TASK_ID" in
          0) exec sh /runs/r0/command.sh ;;
          1) exec sh /runs/r1/command.sh ;;
        esac
        """,
    ),
    (
        Pbs(),
        job(tasks=2, queue="regular", project="proj"),
        """\
        #!/bin/sh
        #PBS -N sweep-1
        #PBS -l select=1:ncpus=48:mpiprocs=4:mem=28672mb
        #PBS -l walltime=1:30:00
        #PBS -l place=scatter:excl
        #PBS -q regular
        #PBS -P proj
        #PBS -j oe
        #PBS -J 0-1

        exec >>/runs/jobs/1/"$PBS_ARRAY_INDEX.log" 2>&1
        case "$PBS_ARRAY_INDEX" in
          0) exec sh /runs/r0/command.sh ;;
          1) exec sh /runs/r1/command.sh ;;
        esac
        """,
    ),
    (
        Pbs(),
        job(ngpus=4, vmem="60gb", cput="9:00:00", place="pack", group_list="proj"),
        """\
        #!/bin/sh
        #PBS -N sweep-1
        #PBS -l select=1:ncpus=48:mpiprocs=4:mem=28672mb:ngpus=4:vmem=60gb
        #PBS -l walltime=1:30:00
        #PBS -l cput=9:00:00
        #PBS -l place=pack
        #PBS -W group_list=proj
        #PBS -j oe

        exec >>/runs/r0/r.log 2>&1
        exec sh /runs/r0/command.sh
        """,
    ),
    (
        Pjm(),
        job(
            gpu=1,
            rscgrp="share",
            restart=True,
            **{"no-stat": False},
            x="PJM_LLIO_GFSCACHE=/vol0004",
            fs="/work,/data",
        ),
        """\
        #!/bin/sh
        #PJM -N sweep-1
        #PJM -L "rscgrp=share"
        #PJM -L "node-mem=28672Mi"
        #PJM -L "gpu=1"
        #PJM -L "elapse=1:30:00"
        #PJM --mpi "max-proc-per-node=4"
        #PJM --restart
        #PJM -x PJM_LLIO_GFSCACHE=/vol0004
        #PJM --fs /work,/data
        #PJM -j
        #PJM -S

        exec >>/runs/r0/r.log 2>&1
        exec sh /runs/r0/command.sh
        """,
    ),
    (
        Pjm(),
        job(nodes=512, ranks=2048, freq=2200, retention_state=0, rscgrp="large", group="hp1"),
        """\
        #!/bin/sh
        #PJM -N sweep-1
        #PJM -L "freq=2200"
        #PJM -L "retention_state=0"
        #PJM -L "rscgrp=large"
        #PJM -L "node=512"
        #PJM -L "node-mem=28672Mi"
        #PJM -L "elapse=1:30:00"
        #PJM --mpi "max-proc-per-node=4"
        #PJM -g hp1
        #PJM -j
        #PJM -S

        exec >>/runs/r0/r.log 2>&1
        exec sh /runs/r0/command.sh
        """,
    ),
]


@pytest.mark.parametrize(("scheduler", "asked", "script"), GOLD)
def test_a_script_is_as_it_should_be(scheduler: Scheduler, asked: Job, script: str) -> None:
    hosts = 'scontrol show hostnames "$SLURM_JOB_NODELIST"'
    assert scheduler.script(asked) == dedent(script).replace("HOSTS", hosts)


def test_several_nodes_are_reached_as_each_scheduler_does() -> None:
    run = ["python3", "-P", "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "4"]
    run += ["--rdzv-backend", "c10d", "--no-python", *WORDS]
    assert Slurm().command(WORDS, 8, 2) == [
        "srun", "--ntasks-per-node=1", "--kill-on-bad-exit=1", *run,
    ]  # fmt: skip
    assert Pbs().command(WORDS, 8, 2) == ["mpiexec", "-n", "2", "-ppn", "1", *run]
    started = Pjm().command(WORDS, 8, 2)
    assert started[:5] == ["mpiexec", "-n", "8", "sh", "-c"] and started[-5:] == WORDS
    assert "WORLD_SIZE=8 LOCAL_WORLD_SIZE=4 LOCAL_RANK=$((PMIX_RANK % 4))" in started[5]
    assert all(one.command(WORDS, 1, 1) == WORDS for one in (Slurm(), Pbs(), Pjm()))


def test_two_jobs_of_a_node_meet_at_ports_of_their_own() -> None:
    [_, line] = Slurm().script(job(nodes=2, ranks=8)).split("export PET_RDZV_ENDPOINT=")
    several = Pbs().script(job(tasks=2, nodes=2, ranks=8))
    assert "$((20000 + (${PBS_JOBID%%[!0-9]*} + ${PBS_ARRAY_INDEX:-0}) % 12000))" in several
    told = Pjm().command(WORDS, 8, 2)[5]
    ports = set()
    for number, task in (("21107476", "0"), ("21107477", ""), ("21107476", "3")):
        names = {"PJM_JOBID": number, "PBS_JOBID": f"{number}[{task}].s", "SLURM_JOB_ID": number}
        names |= {"PJM_BULKNUM": task, "PBS_ARRAY_INDEX": task} if task else {}
        found = [re.search(r"\$\(\(20000.*?12000\)\)", text) for text in (line, several, told)]
        echo = "; ".join(f"echo {one[0]}" for one in found if one)
        words = ["sh", "-c", echo]
        done = subprocess.run(words, env=names, capture_output=True, text=True, check=True)
        slurm, pbs, pjm = map(int, done.stdout.split())
        assert 20_000 <= slurm < 32_000 and pbs == pjm
        ports.add(pjm)
    assert len(ports) == 3


@pytest.mark.parametrize("scheduler", [Slurm(), Pbs(), Pjm()], ids=["slurm", "pbs", "pjm"])
@pytest.mark.parametrize("tasks", [1, 2])
def test_folders_may_be_called_anything(scheduler: Scheduler, tasks: int, tmp_path: Path) -> None:
    """The part of the script behind the directives, run by a shell."""
    odd = tmp_path / '50% o\'f $HOME; "it"'
    odd.mkdir()
    runs = [odd / f"run {number}.sh" for number in range(tasks)]
    for run in runs:
        run.write_text("echo $0")
    logs = [odd / f"{number}.log" for number in range(tasks)]
    asked = replace(job(), script=odd / "job.sh", tasks=runs, logs=logs)
    script = scheduler.script(asked)
    directives = [line for line in script.splitlines() if line.startswith("#")]
    assert not any("50%" in line for line in directives), "patterns and blanks mean something there"
    pattern = f'--output={tmp_path}/50%% o\'f $HOME; "it"/{"0" if tasks == 1 else "%a"}.log'
    assert not isinstance(scheduler, Slurm) or scheduler.submit(asked)[2] == pattern
    names = ("SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX", "PJM_BULKNUM")
    last = str(tasks - 1)
    done = subprocess.run(
        ["sh", "-c", script], env=dict.fromkeys(names, last), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    log = odd / f"{last}.log"
    printed = done.stdout if isinstance(scheduler, Slurm) else log.read_text()
    assert printed == f"{runs[-1]}\n"


@pytest.mark.parametrize(
    ("settings", "options", "why"),
    [
        ({"dp": 6}, {}, "DP 6 x TP 1 x PP 1 = 6 processes do not divide among 4 nodes: 6 % 4 = 2"),
        ({"dp": 8}, {"max-proc-per-node": 4}, "4 nodes x max-proc-per-node 4 = 16, but DP 8 x"),
        (
            {"dp": 8, "tp": 2},
            {"node": "2x3:torus"},
            "nodes = 4, but the job options request",
        ),
        ({"dp": 8}, {"max-proc-per-node": 2}, None),
        ({"dp": 8, "tp": 3}, {"node": "2x2"}, None),
    ],
)
def test_processes_have_to_fill_the_nodes(
    settings: dict[str, int], options: dict[str, object], why: str | None
) -> None:
    ranks = settings.get("dp", 1) * settings.get("tp", 1)
    found = layout_error({"nodes": 4, **settings}, options, ranks)
    assert found is None if why is None else found is not None and found.startswith(why)
