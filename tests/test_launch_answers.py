"""The answers of schedulers, understood: one question for all jobs, ids, limits, times."""

from __future__ import annotations

import pytest

from bench.launch.launcher import JobState, Scheduler, clock, seconds
from bench.launch.launchers.pbs import Pbs
from bench.launch.launchers.pjm import Pjm
from bench.launch.launchers.slurm import Slurm

PBS, PJM = "Job Id: 9.s\n    job_state", "JOB_ID ST EC PC ELAPSE\n"


@pytest.mark.parametrize(
    ("scheduler", "answer", "state"),
    [
        (Slurm(), "9|COMPLETED|0:0|12\n", JobState("COMPLETED", "ok", 0, 12.0)),
        (Slurm(), "9|FAILED|3:0|1\n", JobState("FAILED", "fail", 3, 1.0)),
        (Slurm(), "9|CANCELLED by 0|0:15|7\n", JobState("CANCELLED", "cancelled", -15, 7.0)),
        (Slurm(), "9|TIMEOUT|0:0|61\n", JobState("TIMEOUT", "timeout", 0, 61.0)),
        (Slurm(), "9|PENDING|0:0|0\n", JobState("PENDING", None, 0, 0.0)),
        (Slurm(), "8|COMPLETED|0:0|12\n", None),
        (Slurm(), "", None),
        (
            Slurm(),
            "JobId=9 JobState=TIMEOUT Reason=TimeLimit ExitCode=0:15 RunTime=00:01:02 X=1",
            JobState("TIMEOUT", "timeout", -15, 62.0),
        ),
        (
            Pbs(),
            "Job Id: 9.s\n    resources_used.walltime = 00:00:07\n    job_state = F\n"
            "    Exit_status = 271\n",
            JobState("F", "fail", -15, 7.0),
        ),
        (Pbs(), f"{PBS} = F\n    Exit_status = -29\n", JobState("F", "timeout", -29)),
        (Pbs(), f"{PBS} = F\n    Exit_status = -27\n", JobState("exit code -27", "oom")),
        (Pbs(), f"{PBS} = F\n    Exit_status = -28\n", JobState("F", "timeout", -28)),
        (Pbs(), f"{PBS} = F\n    Exit_status = -3\n", JobState("exit code -3", "fail")),
        (Pbs(), f"{PBS} = R\n", JobState("R")),
        (
            Pjm(),
            "JOB_ID  ST  EC PC ELAPSE\n 9 EXT   0 11 01:30:02\n",
            JobState("EXT", "timeout", 0, 5402.0),
        ),
        (Pjm(), f"{PJM}9 EXT 1 0 00:00:05\n", JobState("EXT", "fail", 1, 5.0)),
        (Pjm(), f"{PJM}9 EXT 137 23 00:00:05\n", JobState("EXT", "oom", 137, 5.0)),
        (Pjm(), f"{PJM}9 QUE - - -\n", JobState("QUE")),
        (Pjm(), PJM, None),
    ],
)
def test_an_answer_is_understood(scheduler: Scheduler, answer: str, state: JobState | None) -> None:
    assert scheduler.states(answer, ["9"]).get("9") == state


@pytest.mark.parametrize(
    ("scheduler", "job_ids", "words", "answer", "told"),
    [
        (
            Slurm(),
            ["12_0", "12_1", "12_2", "13"],
            "sacct -X -n -P -j 12,13 -o JobID,State,ExitCode,ElapsedRaw",
            "12_0|COMPLETED|0:0|7\n12_[1-2%1]|PENDING|0:0|0\n13|RUNNING|0:0|3\n",
            ["COMPLETED", "PENDING", "PENDING", "RUNNING"],
        ),
        (
            Pbs(),
            ["7[0].s", "7[1].s", "8.s"],
            "qstat -x -f 7[0].s 7[1].s 8.s",
            "Job Id: 7[0].s\n    job_state = R\n\nJob Id: 7[1].s\n    job_state = Q\n\n"
            "Job Id: 8.s.domain\n    job_state = H\n",
            ["R", "Q", "H"],
        ),
        (
            Pjm(),
            ["7[0]", "7[1]", "8"],
            "pjstat --choose jid,st,ec,pc,elp 7[0] 7[1] 8",
            "JOB_ID ST EC PC ELAPSE\n7[0] RUN - - 00:00:01\n7[1] QUE - - -\n8 HLD - - -\n",
            ["RUN", "QUE", "HLD"],
        ),
    ],
)
def test_one_question_is_for_all_jobs(
    scheduler: Scheduler, job_ids: list[str], words: str, answer: str, told: list[str]
) -> None:
    assert " ".join(scheduler.state_queries(job_ids)[0][0]) == words
    found = scheduler.states(answer, job_ids)
    assert [found[job_id].word for job_id in job_ids] == told


def test_without_accounting_an_array_is_one_question() -> None:
    _, *others = Slurm().state_queries(["12_0", "12_1", "12_2", "13"])
    assert others == [
        (["scontrol", "show", "job", "-o", "12"], ["12_0", "12_1", "12_2"]),
        (["scontrol", "show", "job", "-o", "13"], ["13"]),
    ]
    row = "JobId={} ArrayJobId=12 ArrayTaskId={} JobName=x JobState={} ExitCode=0:0 RunTime=00:01\n"
    answer = row.format(14, 0, "RUNNING") + row.format(12, "1-2", "PENDING")
    found = Slurm().states(answer, ["12_0", "12_1", "12_2"])
    assert [state.word for state in found.values()] == ["RUNNING", "PENDING", "PENDING"]


def test_how_large_an_array_may_be() -> None:
    assert Slurm().array_limit("MaxArraySize            = 4\nMaxBatchRequeue = 5\n") == 4
    assert Slurm().array_limit("") == 1001 and Slurm().array_limit("MaxArraySize = 0\n") == 1


def test_the_ids_of_tasks() -> None:
    assert Slurm().job_ids("12;cluster\n", 1) == ["12"]
    assert Slurm().job_ids("12\n", 2) == ["12_0", "12_1"]
    assert Pbs().job_ids("7[].server\n", 2) == ["7[0].server", "7[1].server"]
    assert Pjm().job_ids("[INFO] PJM 0000 pjsub Job 21107476 submitted.\n", 1) == ["21107476"]
    assert Slurm().job_ids("error\n", 1) == []


def test_times_as_schedulers_write_them() -> None:
    assert [clock(value) for value in (0.2, 1, 60.5, 7200)] == [
        "0:00:01", "0:00:01", "0:01:01", "2:00:00",
    ]  # fmt: skip
    whole_minutes = [clock(value, step=60) for value in (0.2, 1, 60.5, 7200)]
    assert whole_minutes == ["0:01:00", "0:01:00", "0:02:00", "2:00:00"], "0 is no limit to Slurm"
    assert [seconds(text) for text in ("1-02:03:04", "2:03:04", "03:04")] == [93784, 7384, 184]


@pytest.mark.parametrize(
    ("scheduler", "answer", "word"),
    [
        (Slurm(), "JobId=9 JobState=FAILED ExitCode=1:0 RunTime=-1-::", "FAILED"),
        (Slurm(), f"9|FAILED|1:0|{'9' * 5000}", "FAILED"),
        (Pbs(), f"{PBS} = F\n Exit_status = 271\n resources_used.walltime = 1:\n", "F"),
        (Pbs(), f"{PBS} = F\n Exit_status = {'9' * 5000}\n", "F"),
        (Pjm(), f"{PJM}9 EXT - - ---0", "EXT"),
        (Pjm(), f"{PJM}9 EXT \u00b3 --1 1:-", "EXT"),
        (Pjm(), f"{PJM}9 EXT", None),
    ],
)
def test_an_answer_that_is_cut_ends_no_launch(
    scheduler: Scheduler, answer: str, word: str | None
) -> None:
    state = scheduler.states(answer, ["9"]).get("9")
    assert (state.word if state else None) == word
    assert state is None or state.elapsed_s is None
