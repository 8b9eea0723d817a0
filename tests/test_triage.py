"""`bench failures`: when runs ran, why they failed, on which hosts, and which causes come back."""

import json
import os
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bench.decide.failures import cause
from bench.decide.run_dates import read_date
from bench.vocabulary.hosts import hosts
from tests.deciding import ask
from tests.logs import header, iteration
from tests.program import quick, told

OOM = "RuntimeError: CUDA out of memory. Tried to allocate {} GiB (GPU {}; 79 GiB total capacity)"
NODES = "SLURM_JOB_NODELIST=n[{}]"


def clock(at: str, line: str) -> str:
    return f"[{at}] {line}"


def log(*lines: str) -> str:
    return "\n".join(lines) + "\n"


@pytest.fixture
def failed(folder: Path) -> Path:
    """Four jobs: two out of memory on n3, a week apart, one refused, one that went well."""
    for name, at, gib in (("a", "2024-05-01 10:00:00", 2), ("b", "2024-05-08 10:00:00", 16)):
        text = log(NODES.format("1-3" if name == "a" else "3-5"), header(9),
                   clock(at, iteration(1, of=9)), OOM.format(gib, gib % 8))  # fmt: skip
        (folder / f"{name}.log").write_text(text)
    refused = "pretrain_gpt.py: error: unrecognized arguments: --fast"
    (folder / "run-20240503-0915").mkdir()
    (folder / "run-20240503-0915" / "c.log").write_text(log(header(), "usage: x [-h]", refused))
    (folder / "d.log").write_text(log(header(4), clock("2024-05-02 11:00:00", iteration(4, of=4))))
    return folder


def asked(folder: Path, *args: str) -> list[dict[str, Any]]:
    done = ask(folder, "failures", ".", *args, "--format", "json")
    assert done.code == 0, done.text
    found: list[dict[str, Any]] = json.loads(done.out)
    return found


def test_the_latest_failure_comes_first_with_its_cause(failed: Path) -> None:
    rows = asked(failed)
    assert [Path(row["where"].split(":")[0]).name for row in rows] == ["b.log", "c.log", "a.log"]
    assert [row["status"] for row in rows] == ["oom", "fail", "oom"]
    assert rows[1]["known_from"] == "path" and rows[1]["at"].startswith("2024-05-03T09:15")
    assert "unrecognized arguments: --fast" in rows[1]["reason"]
    assert [row["recurs"] for row in rows] == [2, 1, 2]
    assert rows[0]["hosts"] == ["n3", "n4", "n5"]


@pytest.mark.parametrize(("line", "found"), [
    ("slurmstepd: error: *** STEP 7.0 ON r6i4n5 CANCELLED AT 2021-05-27T21:42:11 ***", ["r6i4n5"]),
    ("slurmstepd: error: *** JOB 7 ON n2 CANCELLED AT 2021-05-27T21:42:11 DUE TO TIME LIMIT ***",
     ["n2"]),
    ("slurmstepd: error: *** JOB 7 ON n2 CANCELLED AT 2021-05-27T21:42:11 DUE TO NODE FAILURE ***",
     ["n2"]),
    ("srun: error: Node failure on n5", ["n5"]),
    ("srun: error: node05: task 3: Exited with exit code 1", ["node05"]),
    ("srun: error: node05: tasks 0-7: Out Of Memory", ["node05"]),
    ("RuntimeError: n7 was not found on node03\n  host      : node03.hpc", ["node03.hpc"]),
    ("RuntimeError: the host node03 did not answer\n  host      : localhost", []),
    ("srun: error: n3: task 0: Killed\n  host      : n3.cluster.local", ["n3"]),
])  # fmt: skip
def test_the_lines_of_a_failure_name_its_hosts(folder: Path, line: str, found: list[str]) -> None:
    (folder / "x.log").write_text(log(header(9), iteration(1, of=9), OOM.format(2, 0), line))
    assert asked(folder)[0]["hosts"] == found


def test_nccl_names_the_hosts_of_its_processes(folder: Path) -> None:
    """Not of a run that is over; and another print may stand in front without line end."""
    said = "{}:1234:1234 [0] NCCL INFO Channel 00/02 :    0   1"
    first = [said.format("r7i7n0"), header(9), said.format("r7i7n1"), iteration(1, of=9),
             "[default0]:" + said.format("r7i7n0"), said.format("doc_idx.npyr7i7n2"),
             "r7i7n8:1234:1234 [0] NCCL INFO Using network IB", OOM.format(2, 0)]  # fmt: skip
    second = [said.format("n9"), header(9), iteration(1, of=9), OOM.format(2, 0)]
    (folder / "x.log").write_text(log(*first, *second))
    runs = sorted(asked(folder), key=lambda row: int(row["where"].rsplit(":", 1)[1]))
    assert [row["hosts"] for row in runs] == [["r7i7n0", "r7i7n1", "r7i7n8"], ["n9"]]


def test_a_used_memory_is_no_cause(folder: Path) -> None:
    used = ((4, 58.8), (8, 60))
    rows = "".join(f"| {n} | 13B | 4 | {gb} GB (OOM on rank 0) |\n" for n, gb in used)
    (folder / "a.md").write_text(f"# A100\n\n| Nodes | Size | TP | Memory |\n{'|---' * 4}|\n{rows}")
    assert [(row["reason"], row["recurs"]) for row in asked(folder)] == [("out of memory", 2)] * 2
    assert "for the same reason: out of memory" in ask(folder, "failures", ".").out


@pytest.mark.parametrize(("lines", "said"), [
    (("srun: Job step aborted: Waiting up to 62 seconds for job step to finish.",
      "Killing subprocess 7949",
      "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2021-05-23T08:46:02 ***",
      "srun: error: n1: task 0: Terminated"), "STEP 7.0 ON n1 CANCELLED"),
    (("srun: Job step aborted: Waiting up to 62 seconds for job step to finish.",
      "srun: error: n1: task 0: Terminated"), "srun: Job step aborted"),
    (("terminate called without an active exception",
      "[2026-11-20 08:54:29,840] [ERROR] [launch.py:259:sigkill_handler] ['python'] exits with"
      " return code = -6"), "terminate called without an active exception"),
])  # fmt: skip
def test_a_consequence_is_no_cause(folder: Path, lines: tuple[str, ...], said: str) -> None:
    (folder / "x.log").write_text(log(header(9), iteration(1, of=9), *lines))
    assert asked(folder)[0]["reason"].startswith(said)


REFUSED = "pretrain_gpt.py: error: unrecognized arguments: --foo 3"


@pytest.mark.parametrize(("lines", "at"), [
    (("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "Root Cause (first "
      "observed failure):", "[0]:", "  time      : 2026-11-25_10:00:00", "  host      : node03",
      "  exitcode  : 2 (pid: 81)"), "2026-11-25T10:00:00"),
    (("srun: error: node03: task 0: Exited with exit code 2",), None),
])  # fmt: skip
def test_a_program_that_a_launcher_saw_fail_is_a_failed_run(
    folder: Path, lines: tuple[str, ...], at: str | None
) -> None:
    (folder / "x.log").write_text(log("usage: pretrain_gpt.py [-h]", REFUSED, *lines))
    [row] = asked(folder)
    assert (row["status"], row["reason"], row["hosts"]) == ("fail", REFUSED, ["node03"])
    assert row["at"] == at


@pytest.mark.parametrize("lines", [
    (REFUSED,), ("srun: error: node03: task 0: Exited with exit code 2",),
    (REFUSED, "the host node03 is slow", "srun: error: Unable to allocate resources"),
])  # fmt: skip
def test_a_program_without_a_launcher_is_no_run(folder: Path, lines: tuple[str, ...]) -> None:
    (folder / "x.log").write_text(log("usage: pretrain_gpt.py [-h]", *lines))
    told(quick(folder, "failures", "."), 3, "no log or benchmark table found")


def test_what_is_said_first(failed: Path) -> None:
    text = ask(failed, "failures", ".").out
    assert text.splitlines()[0] == "3 of 4 runs failed: 2 oom, 1 fail."
    assert "2 runs failed for the same reason from 2024-05-01 to 2024-05-08" in text
    assert "all on n3" in text


def test_a_failure_of_a_log_and_of_its_copy_is_one(failed: Path) -> None:
    """Not so where the clock differs: the same job can fail the same way twice."""
    text = (failed / "a.log").read_text()
    (failed / "a_excerpt.log").write_text(text + "\ncopied by hand\n")
    (failed / "again.log").write_text(text.replace("2024-05-01", "2024-05-02"))
    done = ask(failed, "failures", ".").out
    assert done.splitlines()[0] == "4 of 5 runs failed: 3 oom, 1 fail."
    assert "1 failure is read twice" in done
    [copy] = [row for row in asked(failed) if row["left_out"]]
    assert copy["left_out"].startswith("copy of ") and "a.log" in copy["left_out"]


def test_a_failed_row_of_a_copied_table_is_one(folder: Path) -> None:
    head = "| Nodes | Size | DP | TP | PP | MBS | GBS | TFLOPs | Notes |\n|" + "---|" * 9 + "\n"
    rows = [f"| {nodes} | 13B | {nodes} | 4 | 2 | 1 | 64 | OOM | |\n" for nodes in (4, 8, 8)]
    (folder / "a.md").write_text("# Sweep on A100\n\n" + head + "".join(rows))
    (folder / "b.md").write_text("# Sweep on A100, again\n\n" + head + "".join(rows))
    first = ask(folder, "failures", ".").out.splitlines()[0]
    assert first == "3 of 3 runs failed: 3 oom.", "a row that a table has twice is two runs"


def test_a_failure_of_another_device_or_length_is_no_copy(folder: Path) -> None:
    head = "| Nodes | Size | DP | TP | PP | MBS | GBS | TFLOPs | Notes |\n|" + "---|" * 9 + "\n"
    row = "| 4 | 13B | 4 | 4 | 2 | 1 | 64 | OOM | |\n"
    for name, set_up in (("a", "A100 40GB"), ("b", "H100 80GB"), ("c", "H100 80GB, SEQ_LEN=8192")):
        (folder / f"{name}.md").write_text(f"# Sweep\n\n{set_up}\n\n{head}{row}")
    done = ask(folder, "failures", ".").out
    assert done.splitlines()[0] == "3 of 3 runs failed: 3 oom.", done
    assert "read twice" not in done


def test_since_counts_from_when_runs_ran(failed: Path) -> None:
    """All were read just now."""
    assert len(asked(failed, "--since", "2024-05-03")) == 2
    days = (datetime.now() - datetime(2024, 5, 5)).days
    assert [row["status"] for row in asked(failed, "--since", f"{days} days")] == ["oom"]
    assert asked(failed, "--since", "2 hours") == []
    assert "None of 0 runs" in ask(failed, "failures", ".", "--since", "1 week").out


def test_a_run_without_a_date_is_not_lost(folder: Path) -> None:
    (folder / "x.log").write_text(log(header(), OOM.format(2, 0)))
    assert asked(folder)[0]["at"] is None
    [row] = asked(folder, "--since", "7 days")
    assert row["left_out"] == "no date is known"


def test_git_dates_a_log_that_nothing_else_dates(folder: Path) -> None:
    (folder / "x.log").write_text(log(header(), OOM.format(2, 0)))
    at = "2023-02-01T12:00:00+00:00"
    who = {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER")
           for what, text in (("NAME", "a"), ("EMAIL", "a@b"), ("DATE", at))}  # fmt: skip
    for words in (("init", "-q"), ("add", "x.log"), ("commit", "-qm", "log")):
        subprocess.run(["git", *words], cwd=folder, env=os.environ | who, check=True)
    [row] = asked(folder)
    assert (row["known_from"], row["at"]) == ("git", "2023-02-01T12:00:00")


@pytest.mark.parametrize("form", ["table", "md", "csv", "tsv", "json", "html"])
def test_every_format(failed: Path, form: str) -> None:
    done = ask(failed, "failures", ".", "--format", form)
    assert done.code == 0 and "unrecognized arguments" in done.out


def test_a_wrong_since_is_refused(failed: Path) -> None:
    told(ask(failed, "failures", ".", "--since", "soon"), 2, "'soon'", "7 days")


def test_nothing_to_read(folder: Path) -> None:
    told(quick(folder, "failures"), 2, "no warehouse", "bench ingest")


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (OOM.format(2, 0), OOM.format(16, 7), True),
        ("job 12: TIMEOUT (a/sacct.txt:3)", "job 99: TIMEOUT (b/sacct.txt:7)", True),
        ("at 0x7f11 in /a/b/c.py", "at 0x9 in /x/y/c.py", True),
        ("NCCL error in a.cpp:825", "CUDA error in a.cpp:825", False),
    ],
)
def test_causes_are_told_apart_by_their_words(one: str, other: str, alike: bool) -> None:
    assert (cause("fail", one) == cause("fail", other)) is alike
    assert cause("fail", one) != cause("oom", one)
    assert cause("oom", "OOM") is None and cause("oom", None) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("n[07-08,11]", ("n07", "n08", "n11")),
        ("a1,b[1-2]", ("a1", "b1", "b2")),
        ("'n1': [0, 1], 'n2': [0, 1]", ("n1", "n2")),
        ("n1:8,n2:8", ("n1", "n2")),
        ("n1 n2 n1", ("n1", "n2")),
        ("n[1-99999999]", ("n[1-99999999]",)),
        ("", ()),
    ],
)
def test_lists_of_hosts(text: str, found: tuple[str, ...]) -> None:
    assert hosts(text) == found


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2021-06-10 20:47:50", datetime(2021, 6, 10, 20, 47, 50)),
        ("Tue Nov 24 06:05:38 UTC 2026", datetime(2026, 11, 24, 6, 5, 38)),
        ("2024/05/31", datetime(2024, 5, 31)),
        ("02-15", None),
        ("soon", None),
        (None, None),
    ],
)
def test_dates(text: str | None, date: datetime | None) -> None:
    assert read_date(text) == date


def test_failures_of_real_logs(shared: Path, folder: Path) -> None:
    """Logs of other projects, where they are there."""
    # `more` holds a table of 19,076 readings too, of which none failed.
    logs = [path for path in sorted((shared / "logs").iterdir()) if path.name != "more"]
    logs += sorted((shared / "logs" / "more").glob("*.log"))
    rows = json.loads(quick(folder, "failures", *map(str, logs), "--format", "json", "--all").out)
    by_name = {Path(row["where"].rsplit(":", 1)[0]).name: row for row in rows}
    ecc = by_name["train__tr1-13B-base__chronicles.md.excerpts.txt"]
    assert "uncorrectable ECC error" in ecc["reason"] and ecc["at"].startswith("2021-08-08")
    refused = by_name["fugaku_dp2_timers_FAILS.log"]
    assert "unrecognized arguments" in refused["reason"]
    timers = [row for row in rows if "bwd_microstep" in (row["reason"] or "")]
    assert [row["recurs"] for row in timers] == [2, 2]
    dated = [row["at"] for row in rows if row["at"]]
    assert dated == sorted(dated, reverse=True)
    assert timedelta(0) < datetime.now() - datetime.fromisoformat(dated[-1])


def test_no_command_is_suggested_where_no_row_is_a_run(folder: Path) -> None:
    (folder / "sacct.txt").write_text("JobID|JobName|State|ExitCode\n7|train|FAILED|3:0\n")
    done = quick(folder, "failures", "sacct.txt")
    assert "sacct:2" in done.out and done.err.endswith("1 row, 0 excluded\n"), done.text


def test_of_one_end_the_statement_of_memory_counts_and_codes_are_shown(folder: Path) -> None:
    head = "JobID|JobName|State|ExitCode|End|NNodes"
    ended = "31|train|FAILED|0:9|2026-11-20T08:52:38|2"
    (folder / "sacct.txt").write_text(log(head, ended, "7|x|FAILED|3:0|Unknown|1"))
    step = "slurmstepd-n1: error: "
    beyond = f"{step}StepId=31.batch exceeded memory limit (15 > 2), being killed"
    cancelled = f"{step}*** JOB 31 ON n1 CANCELLED AT 2026-11-20T08:52:38 ***"
    (folder / "slurm-31.out").write_text(log(beyond, cancelled))
    first, second = asked(folder)
    assert (first["where"], first["status"], first["nodes"]) == ("slurm-31.out:2", "oom", 2)
    assert first["reason"] == "CANCELLED, out of memory"
    assert (second["where"], second["reason"]) == ("sacct.txt:3", "FAILED, exit code 3")
    assert "31 (train)" in ask(folder, "failures", ".").out
    told(quick(folder, "show", "sacct:2", "."), 2, "job 31, FAILED, of which no log was read")
