"""How runs end, by the lines that schedulers, launchers and PyTorch print: the first true cause."""

import pytest

from tests.logs import iteration, only_run, read

TRACEBACK = ["Traceback (most recent call last):", '  File "x.py", line 1, in <module>']
STEPD = "slurmstepd: error: *** "
ELASTIC = "ERROR:torch.distributed.elastic.multiprocessing.api:failed "
WATCHDOG = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, "
WATCHED = "Timeout(ms)=600000) ran for 600029 milliseconds before timing out."
CANCELLED = "ON r6i5n1 CANCELLED AT 2021-05-23T08:46:02"
LAUNCH = "[2023-01-01 10:00:00,123] [INFO] [launch.py:315:sigkill_handler] "
ABORTED = "srun: Job step aborted: Waiting up to 62 seconds for job step to finish."
LSF = ["-" * 60, "# LSBATCH: User input"]
EXIT = ["Exited with exit code 137.", ""]

# Status, the line of the cause from 1 (behind a step), the lines.
CASES: list[tuple[str, int, list[str]]] = [
    ("oom", 2, ["RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 14 GiB"]),
    ("oom", 4, [*TRACEBACK, "torch.cuda.OutOfMemoryError: CUDA out of memory. GPU 0 has"]),
    ("oom", 2, ["[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 MiB."]),
    ("oom", 2, ["torch.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB."]),
    ("oom", 2, ["RuntimeError: NPU out of memory. Tried to allocate 20.00 MiB (NPU 0; 6 GiB"]),
    ("oom", 2, ["slurmstepd: error: Detected 1 oom-kill event(s) in StepId=123.0. Some of your"]),
    ("oom", 2, ["slurmstepd: error: Detected 1 oom_kill event in StepId=123.0. Some of the step"]),
    ("oom", 3, [LAUNCH + "Killing subprocess 12", "['python'] exits with return code = -9"]),
    ("oom", 2, [ELASTIC + "(exitcode: -9) local_rank: 3 (pid: 123) of binary: /usr/bin/python"]),
    ("oom", 2, ["slurmstepd-vm: error: StepId=31.batch exceeded memory limit (15 > 2), being",
                STEPD + f"JOB 31 {CANCELLED} ***"]),
    ("oom", 2, ["srun: error: r6i4n5: task 3: Out Of Memory", ABORTED]),
    ("oom", 2, ["mpirun noticed that process rank 3 with PID 0 on node n1 exited on signal 9 "
                "(Killed)."]),
    ("oom", 2, ["=>> PBS: job killed: mem 209715200kb exceeded limit 104857600kb"]),
    ("hang", 2, [f"[E ProcessGroupNCCL.cpp:737] [Rank 1] {WATCHDOG}{WATCHED}", *TRACEBACK]),
    ("hang", 2, [f"[rank0]:[E321 02:07:08.408 ProcessGroupNCCL.cpp:607] {WATCHDOG}{WATCHED}"]),
    ("hang", 2, [f" 10%|#   | 1/9 [00:01<00:09][E ProcessGroupNCCL.cpp:458] {WATCHDOG}{WATCHED}"]),
    ("fail", 2, ["RuntimeError: NCCL error in: ../c10d/ProcessGroupNCCL.cpp:825, unhandled system "
                 "error, NCCL version 2.7.8", "ncclSystemError: System call failed."]),
    ("fail", 2, ["terminate called after throwing an instance of 'c10::CUDAError'",
                 "  what():  CUDA error: unknown error"]),
    ("fail", 2, ["RuntimeError: CUDA error: an illegal memory access was encountered"]),
    ("oom", 4, [*TRACEBACK, "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while"]),
    ("oom", 4, [*TRACEBACK, "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"]),
    ("oom", 2, ["x.sh: line 50: 23145 Killed                  python pretrain_gpt.py"]),
    ("hang", 2, ["ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress"]),
    ("hang", 2, ["[PG 1 Rank 3] Heartbeat monitor timed out! Process will be terminated after"]),
    ("fail", 2, ["x.sh: line 50: 23145 Bus error               (core dumped) python train.py"]),
    ("fail", 2, ["Fatal Python error: Aborted"]),
    ("cancelled", 4, [*TRACEBACK, "torch.distributed.elastic.multiprocessing.api.SignalException: "
                      "Process 4023 got signal: 15"]),
    ("timeout", 5, [*TRACEBACK, "torch.distributed.elastic.multiprocessing.api.SignalException: "
                    "Process 4023 got signal: 15",
                    STEPD + f"JOB 7 {CANCELLED} DUE TO TIME LIMIT ***"]),
    ("fail", 2, [*TRACEBACK, "RuntimeError: CUDA error: an illegal memory access was encountered",
                 *TRACEBACK, "torch.distributed.elastic.multiprocessing.api.SignalException: "
                 "Process 4023 got signal: 15"]),
    ("timeout", 2, [STEPD + f"STEP 1999616.0 {CANCELLED} DUE TO TIME LIMIT ***", ABORTED]),
    ("timeout", 2, [STEPD + f"JOB 1999616 {CANCELLED} DUE TO TIME LIMIT ***", *TRACEBACK]),
    ("timeout", 2, ["=>> PBS: job killed: walltime 3612 exceeded limit 3600"]),
    ("oom", 4, [*LSF, "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.", *EXIT]),
    ("timeout", 4, [*LSF, "TERM_RUNLIMIT: job killed after reaching LSF run time limit.", *EXIT]),
    ("timeout", 5, ["['python'] exits with return code = -9", *LSF,
                    "TERM_RUNLIMIT: job killed after reaching LSF run time limit.", *EXIT]),
    ("oom", 2, ["RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", *LSF,
                "TERM_RUNLIMIT: job killed after reaching LSF run time limit.", *EXIT]),
    ("cancelled", 4, [*LSF, "TERM_OWNER: job killed by owner.", *EXIT]),
    ("fail", 4, [*LSF, *EXIT, "Resource usage summary:", "    Max Memory :  58 MB"]),
    ("fail", 2, ["RuntimeError: mat1 and mat2 shapes cannot be multiplied"]),
    ("fail", 2, ["[rank0]: ValueError: micro batch size does not divide", ABORTED.replace(
        "srun: Job step aborted: Waiting", "The job waits")]),
    ("fail", 2, ["RuntimeError: mat1 and mat2 shapes cannot be multiplied", *LSF, *EXIT]),
    ("oom", 2, ["torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory."]),
    ("ended", 62, ["ImportError: cannot import name 'x'; goes on without", *["..."] * 60, "."]),
    ("cancelled", 2, [STEPD + f"STEP 1809577.0 {CANCELLED} ***"]),
    ("cancelled", 2, [STEPD + f"JOB 1809577 {CANCELLED} DUE TO PREEMPTION ***"]),
    ("cancelled", 2, [ABORTED, "srun: Force Terminated job 1809577"]),
    ("cancelled", 4, [*TRACEBACK, "KeyboardInterrupt"]),
    ("fail", 2, [STEPD + f"JOB 1809577 {CANCELLED} DUE TO NODE FAILURE, SEE SLURMCTLD LOG ***"]),
    ("fail", 3, [ABORTED, "srun: error: nid01934: task 2: Exited with exit code 1"]),
    ("cancelled", 2, ["srun: error: nid01934: tasks 2,4-5,7: Terminated"]),
    ("fail", 2, [LAUNCH + "Killing subprocess 123", "Main process received SIGTERM, exiting"]),
    ("fail", 3, [LAUNCH + "Killing subprocess 123", *TRACEBACK, "ValueError: bad"]),
    ("fail", 2, [ELASTIC + "(exitcode: 1) local_rank: 3 (pid: 123) of binary: /usr/bin/python",
                 "Root Cause (first observed failure):"]),
    ("fail", 2, ["E1223 05:18:02.971000 1 torch/distributed/elastic/multiprocessing/api.py:826] "
                 "failed (exitcode: -11) local_rank: 0 (pid: 1) of binary: python"]),
    ("fail", 2, ["[default] Worker group FAILED. 3/3 attempts left; will restart worker group"]),
    ("ended", 3, ["[default] Worker group FAILED. 3/3 attempts left; will restart worker group",
                    iteration(1)]),
    ("fail", 2, ["['python'] exits with return code = -11"]),
    ("fail", 2, ["Segmentation fault (core dumped)"]),
    ("fail", 2, ["RuntimeError: DataLoader worker (pid 30882) is killed by signal: Bus error."]),
    ("fail", 2, ["[WARN] PLE 0608 plexec One of MPI processes was aborted.(rank=0)(nid=0x01010011)"
                 "(CODE=1938,793745140674134016,256)(DETAIL=N/A)"]),
    ("fail", 2, ["[WARN] PLE 0610 plexec The process terminated with the signal.(rank=0)(sig=11)"]),
    ("fail", 2, ["[ERR.] PLE 0005 plexec The process was killed."]),
    ("fail", 2, ["MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD"]),
    ("nan", 2, ["RuntimeError: Unexpected result nan at rank 3, iteration #10 (message='x')"]),
    ("nan", 2, ["AssertionError: Rank 3: found NaN in local forward loss calculation. Device: 3"]),
    ("nan", 2, ["Exception: Current loss scale already at minimum - cannot decrease scale anymore. "
                "Exiting run."]),
    ("ok", 2, ["[exiting program at iteration 500] datetime: 2021-06-10 23:06:22"]),
    ("ok", 2, ["[exiting program after 1190.03 minutes] datetime: 2021-06-10 23:06:22"]),
    ("ok", 2, ["[after training is done] datetime: 2021-06-10 23:06:22",
               LAUNCH + "Killing subprocess 12", "Main process received SIGTERM, exiting"]),
    ("ok", 2, [LAUNCH.replace("sigkill_handler", "main") + "Process 2134 exits successfully."]),
    ("ended", 1, ["  what looks like a failure in prose: it ran out of patience"]),
]  # fmt: skip


@pytest.mark.parametrize(("status", "line", "lines"), CASES, ids=[c[2][-1][:50] for c in CASES])
def test_how_a_run_ends(status: str, line: int, lines: list[str]) -> None:
    run = only_run(read("\n".join([iteration(1, of=500), *lines])))
    assert (run["status"], run["status_line"]) == (
        status,
        line if status != "ended" else 1 + len(lines),
    )
    assert (run["status_reason"] is None) == (status == "ok")


def test_the_processes_that_a_launcher_kills_are_no_cause() -> None:
    noise = [LAUNCH + f"Killing subprocess {n}" for n in range(8)]
    run = only_run(
        read("\n".join([iteration(1, of=500), *noise, *TRACEBACK, "KeyError: 'x'", *noise]))
    )
    assert (run["status"], run["status_line"], run["status_reason"]) == (
        "fail",
        10,
        "KeyError: 'x'",
    )


def test_a_traceback_tells_the_error_that_ends_it() -> None:
    """An error of CUDA follows elsewhere too: an exception of another rank says more."""
    error = "CUDA error: an illegal memory access was encountered"
    lines = [iteration(1), *TRACEBACK, f"RuntimeError: {error}"]
    assert only_run(read("\n".join(lines)))["status_reason"] == error
    lines += [*TRACEBACK, "ValueError: token 50304 is not below 50304"]
    run = only_run(read("\n".join(lines)))
    assert run["status_reason"] == "ValueError: token 50304 is not below 50304"


def test_a_report_of_lsf_above_the_output() -> None:
    """Where a site writes the report first; the first cause of the output counts all the same."""
    for word, status in (("MEMLIMIT: job killed after reaching LSF memory usage limit.", "oom"),
                         ("OWNER: job killed by owner.", "cancelled")):  # fmt: skip
        report = [*LSF, f"TERM_{word}", *EXIT, "The output (if any) follows:", ""]
        run = only_run(read("\n".join([*report, iteration(1, of=500)])))
        assert (run["status"], run["status_line"]) == (status, 3)
    report = [*LSF, *EXIT, "The output (if any) follows:", ""]
    assert only_run(read("\n".join([*report, iteration(1, of=500)])))["status"] == "fail"
    assert only_run(read("\n".join([*report, iteration(4)])))["status"] == "ok"
    oom = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
    run = only_run(read("\n".join([*report, iteration(1, of=500), oom])))
    assert (run["status"], run["status_line"]) == ("oom", 8)
