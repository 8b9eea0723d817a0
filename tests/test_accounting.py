"""Accounting files of schedulers, and the endings of logs that do not state one."""

from datetime import datetime
from pathlib import Path

import pytest

from bench.ingest.files.accounting import AccountedJob, read_jobs
from bench.ingest.files.pipeline import ingest
from bench.schema.opening import open_read
from tests.logs import only_run, read
from tests.making import SACCT_P, iteration

SACCT = """JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
17                bench      debug       root          1 OUT_OF_ME+    0:125
17.batch          batch                  root          1 OUT_OF_ME+    0:125
18              gpt-dp2      debug       root          2 CANCELLED+      0:0
19              gpt-dp2      debug                     2    TIMEOUT      0:0
"""
SCONTROL = """JobId=1809577 JobName=gpt two words
   UserId=a(1) GroupId=b(2) MCS_label=N/A
   JobState=NODE_FAIL Reason=NodeDown Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:1
   SubmitTime=2021-05-23T08:40:00 EligibleTime=2021-05-23T08:40:00
   StartTime=2021-05-23T08:41:02 EndTime=2021-05-23T08:46:02 Deadline=N/A
   NumNodes=16 NumCPUs=640 NumTasks=16 CPUs/Task=40

JobId=1809578 JobName=next
   JobState=PENDING Reason=Priority
"""
QSTAT = """Job Id: 1234567.polaris-pbs-01
    Job_Name = train
    Job_Owner = user@login
    resources_used.walltime = 01:00:12
    job_state = F
    mtime = Thu May 27 21:42:11 2021
    Resource_List.nodect = 32
    stime = Thu May 27 20:42:00 2021
    Exit_status = -29
    comment = Job run at Thu May 27 at 20:42 on (x3001c0s13b0n0:ncpus=64) and f
\tailed
    Submit_arguments = -A project job.sh

Job Id: 1234568.polaris-pbs-01
    job_state = R
    stime = Thu May 27 20:42:00 2021

Job Id: 1234569[2].polaris-pbs-01
    job_state = F
    Exit_status = 271
"""
TRACEJOB = """
Job: 1234567.polaris-pbs-01

05/27/2021 20:41:50  S    enqueuing into prod, state 1 hop 1
05/27/2021 20:42:00  S    Job Run at request of Scheduler@polaris-pbs-01
05/27/2021 21:42:10  M    walltime 3612 exceeded limit 3600
05/27/2021 21:42:11  S    Exit_status=271 resources_used.cpupercent=99
"""
PJSTAT = """  ACCEPT QUEUED  STGIN  READY RUNING RUNOUT STGOUT   HOLD  ERROR   TOTAL
       0      0      0      0      0      0      0      0      0       0

JOB_ID     JOB_NAME   MD ST  USER     START_DATE      ELAPSE_LIM NODE_REQUIRE    VNODE  CORE V_MEM
21107476   train.sh   NM CCL u00001   02/15 10:00:01  0002:00:00 512:torus       -      -    -
21107477   train.sh   NM RUN u00001   02/15 12:00:01  0002:00:00 512:torus       -      -    -
"""
PJM_STATS = """
Job Statistical Information
 JOB ID                      : 21107476
 JOB NAME                    : train.sh
 STATE                       : EXT
 EXIT CODE                   : 137
 PJM CODE                    : 11
 JOB START DATE              : 2022/02/15 10:00:01
 JOB END DATE                : 2022/02/15 12:00:05
 REASON                      : ELAPSE LIMIT EXCEEDED
"""


def jobs_of(text: str) -> tuple[str | None, list[tuple[str, str, str | None, int]]]:
    form, jobs = read_jobs(text)
    return form, [(job.job_id, job.state, job.status, job.line) for job in jobs]


@pytest.mark.parametrize(
    ("text", "form", "jobs"),
    [
        (SACCT_P, "sacct -P", [
            ("12", "TIMEOUT", "timeout", 2), ("13", "CANCELLED by 1000", "cancelled", 4),
            ("14_3", "OUT_OF_MEMORY", "oom", 7), ("15", "RUNNING", None, 8),
            ("16", "NODE_FAIL", "fail", 9),
        ]),
        (SACCT, "sacct", [
            ("17", "OUT_OF_ME+", "oom", 3), ("18", "CANCELLED+", "cancelled", 5),
            ("19", "TIMEOUT", "timeout", 6),
        ]),
        (SCONTROL, "scontrol", [
            ("1809577", "NODE_FAIL", "fail", 1), ("1809578", "PENDING", None, 9),
        ]),
        (QSTAT, "qstat", [
            ("1234567", "Exit_status=-29", "timeout", 1), ("1234568", "job_state=R", None, 14),
            ("1234569[2]", "Exit_status=271", "cancelled", 18),
        ]),
        (TRACEJOB, "tracejob", [("1234567", "Exit_status=271", "timeout", 2)]),
        (PJSTAT, "pjstat", [("21107476", "CCL", "cancelled", 5), ("21107477", "RUN", None, 6)]),
        (PJM_STATS, "pjstat -s", [("21107476", "PJM CODE 11", "timeout", 3)]),
        ("JobID|State\nno job|x\nand a JobId=\n", None, []),
    ],
)  # fmt: skip
def test_jobs(text: str, form: str | None, jobs: list[tuple[str, str, str | None, int]]) -> None:
    assert jobs_of(text) == (form, jobs)


def test_all_that_is_told_of_a_job() -> None:
    assert read_jobs(SCONTROL)[1][0] == AccountedJob(
        "1809577", "slurm", "NODE_FAIL", "fail", 1, "gpt two words", "0:1", "NodeDown", 16,
        datetime(2021, 5, 23, 8, 41, 2), datetime(2021, 5, 23, 8, 46, 2),
    )  # fmt: skip
    job = read_jobs(QSTAT)[1][0]
    assert (job.started, job.nodes) == (datetime(2021, 5, 27, 20, 42), 32)
    assert str(job.reason).endswith("and failed")


def test_the_real_accounting(shared: Path) -> None:
    _, jobs = read_jobs((shared / "logs" / "slurm" / "sacct.txt").read_text())
    assert len(jobs) == 33  # 30 in columns, three of them once more between bars; steps are none
    by_id = {job.job_id: (job.state, job.status) for job in jobs}
    assert by_id["12"] == ("TIMEOUT", "timeout") and by_id["31"] == ("FAILED", "fail")
    assert by_id["27_2"] == ("COMPLETED", "ok") and "31.batch" not in by_id


DATED = "[2026-11-20 {at}] {line}"


def test_the_output_of_jobs_that_printed_nothing_else(shared: Path) -> None:
    found: dict[str, tuple[str | None, str]] = {}
    for number in (12, 31):
        form, jobs = read_jobs((shared / "logs" / "slurm" / f"slurm-{number}.out").read_text())
        assert form == "slurmstepd"
        found |= {job.job_id: (job.status, str(job.ended)) for job in jobs}
    assert found == {
        "12": ("timeout", "2026-11-20 08:46:36"), "31": ("oom", "2026-11-20 08:52:38"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "log", "jobs", "status"),
    [
        ("slurm-12.out", [], SACCT_P, "timeout"),
        ("a.18.out", [], SACCT, "cancelled"),
        ("slurm-14_3.out", [], SACCT_P, "oom"),
        ("slurm-15.out", [], SACCT_P, "ended"),
        ("train.o1234567", [], QSTAT, "timeout"),
        ("x.log", ["export PJM_JOBID=21107476"], PJM_STATS, "timeout"),
        ("output.21107476/0/1/stdproc.1.511", [], PJM_STATS, "timeout"),
        ("x.log", [], SACCT_P, "ended"),
        ("x-12.log", ["[after training is done] datetime: 2026-11-20 08:46:00"], SACCT_P, "ok"),
        ("x-12.log", ["torch.OutOfMemoryError: CUDA out of memory."], SACCT_P, "oom"),
    ],
)
def test_a_job_tells_how_its_log_ended(
    tmp_path: Path, name: str, log: list[str], jobs: str, status: str
) -> None:
    (tmp_path / "jobs.txt").write_text(jobs)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("\n".join([*log[:1], iteration(1), *log]))
    assert not ingest([tmp_path], tmp_path / "b.duckdb").failed
    with open_read(tmp_path / "b.duckdb") as warehouse:
        [(found, reason)] = warehouse.rows("SELECT status, status_reason FROM runs")
        assert found == status
        assert ("(jobs.txt:" in str(reason)) == (status not in ("ended", "ok") and not (
            log and "memory" in log[0]))  # fmt: skip
        assert list(warehouse.rows("SELECT status FROM configurations")) == [(status,)]


@pytest.mark.parametrize(("at", "status"), [("08:46:30", "timeout"), ("07:46:30", "hang")])
def test_a_log_that_was_silent_long_before_its_job_ended_had_hung(
    tmp_path: Path, at: str, status: str
) -> None:
    (tmp_path / "jobs.txt").write_text(SACCT_P)
    line = DATED.format(at=at, line=iteration(1).strip())
    (tmp_path / "slurm-12.out").write_text(line + "\n")
    ingest([tmp_path], tmp_path / "b.duckdb")
    with open_read(tmp_path / "b.duckdb") as warehouse:
        [(found, reason)] = warehouse.rows("SELECT status, status_reason FROM runs")
    assert (found, "last step at" in reason) == (status, status == "hang")


@pytest.mark.parametrize(("at", "status"), [("08:46:30", "timeout"), ("07:46:30", "hang")])
def test_a_log_that_tells_itself_when_it_was_ended(at: str, status: str) -> None:
    end = (
        "slurmstepd: error: *** JOB 12 ON vm CANCELLED AT 2026-11-20T08:46:36 DUE TO TIME LIMIT ***"
    )
    run = only_run(read(DATED.format(at=at, line=iteration(1).strip()) + "\n" + end))
    assert run["status"] == status
