"""Jobs and how they ended, by accounting files (sacct, scontrol, qstat, tracejob, pjstat)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from ...schema.rows import Rows
from ...vocabulary.secrets import redact_text

LONGEST_TEXT = 400
MOST_PARTS = 4  # lines that a command with line ends spreads a record over
# The status for each state; sacct truncates to its columns (`OUT_OF_ME+`). None: not ended.
SLURM = {
    "COMPLETED": "ok", "FAILED": "fail", "TIMEOUT": "timeout", "DEADLINE": "timeout",
    "CANCELLED": "cancelled", "PREEMPTED": "cancelled", "REVOKED": "cancelled",
    "OUT_OF_MEMORY": "oom", "NODE_FAIL": "fail", "BOOT_FAIL": "fail", "LAUNCH_FAILED": "fail",
}  # fmt: skip
# PBS: below 0 the server's own codes, from 256 on a signal.
PBS = {0: "ok", -29: "timeout", -28: "timeout", -27: "oom", -26: "oom", -11: "fail"}
PBS_SIGNALS = {9: "cancelled", 15: "cancelled"}
# PJM CODE of a job's statistics.
PJM = {0: "ok", 1: "cancelled", 2: "cancelled", 11: "timeout", 12: "oom", 20: "fail", 23: "oom"}
PJM_STATES = {"EXT": "ok", "CCL": "cancelled", "ERR": "fail", "RJT": "fail"}
RULED = re.compile(r"^-{2,}(?: +-{2,})+\s*$")
PAIR = re.compile(r"(?:^|\s)([A-Z][\w/:]*)=(.*?)(?=\s[A-Z][\w/:]*=|$)")
EXIT = re.compile(r"Exit_status ?= ?(-?\d{1,6})")
STATISTIC = re.compile(r"^\s*([A-Z][A-Z ().]{1,40}?)\s*:\s?(.*)$")
ENDED = re.compile(
    r"\*\*\* (?:JOB|STEP) (\d{1,12})\S{0,20} ON \S{1,200} CANCELLED AT (\S{1,40})"
    r"( DUE TO [A-Z ]{1,40})?"
)
TRACE = re.compile(r"^(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)(?:\.\d+)?\s+[A-Z]\s+(.*)$")
TIMES = ("%Y-%m-%dT%H:%M:%S", "%Y/%m/%d %H:%M:%S", "%a %b %d %H:%M:%S %Y", "%m/%d/%Y %H:%M:%S")


@dataclass(frozen=True, slots=True)
class AccountedJob:
    """One job by its scheduler; `status` is None before it has ended."""

    job_id: str
    scheduler: str
    state: str
    status: str | None
    line: int
    name: str | None = None
    exit_code: str | None = None
    reason: str | None = None
    nodes: int | None = None
    started: datetime | None = None
    ended: datetime | None = None


def read_jobs(text: str) -> tuple[str | None, list[AccountedJob]]:
    """The program that wrote most of an accounting file, and its jobs, without job steps."""
    lines = text.splitlines()
    found = {form: list(read(lines)) for form, read in FORMS.items()}
    jobs = sorted((job for jobs in found.values() for job in jobs), key=lambda job: job.line)
    return (max(found, key=lambda form: len(found[form])) if jobs else None), jobs


def rows_of_jobs(jobs: Sequence[AccountedJob]) -> Rows:
    """The jobs as they are stored, without secrets."""
    rows = Rows()
    for job in jobs:
        values = {name: getattr(job, name) for name in AccountedJob.__slots__}
        texts = {k: redact_text(v)[:LONGEST_TEXT] for k, v in values.items() if isinstance(v, str)}
        rows.add("jobs", **(values | texts))
    return rows


def _parsable(lines: Sequence[str]) -> Iterator[AccountedJob]:
    """`sacct -P` and `-p`: a head and cells between bars; a command may contain line ends."""
    head: list[str] = []
    waiting, begun, parts = "", 0, 0
    for number, line in enumerate(lines, 1):
        cells = line.split("|")
        if len(cells) > 1 and {"JobID", "State"} <= set(cells):
            head, waiting = cells, ""
            continue
        if not head or (len(cells) == 1 and not waiting):  # or the rest of a command
            continue
        begun = begun if waiting else number
        waiting, parts = (f"{waiting} {line}", parts + 1) if waiting else (line, 1)
        cells = waiting.split("|")
        if len(cells) < len(head) and parts < MOST_PARTS:
            continue
        waiting = ""
        if len(cells) == len(head):
            yield from _slurm(dict(zip(head, cells, strict=True)), begun)


def _fixed(lines: Sequence[str]) -> Iterator[AccountedJob]:
    """`sacct`: columns as wide as the rules below their heads."""
    head: list[str] = []
    places: list[tuple[int, int]] = []
    for number, line in enumerate(lines, 1):
        if RULED.match(line) and number > 1 and "JobID" in lines[number - 2]:
            places = [match.span() for match in re.finditer("-+", line)]
            head = [lines[number - 2][start:end].strip() for start, end in places]
        elif places and line.strip() and "|" not in line:
            cells = [line[start:end].strip() for start, end in places]
            yield from _slurm(dict(zip(head, cells, strict=True)), number)


def _slurm(cells: Mapping[str, str], line: int) -> Iterator[AccountedJob]:
    job_id, state = cells.get("JobID", "").strip(), cells.get("State", "").strip()
    if not re.fullmatch(r"\d{1,12}(?:[_+]\d{1,9})?", job_id) or not state:
        return
    yield AccountedJob(
        job_id, "slurm", state, _slurm_status(state), line,
        cells.get("JobName") or None,
        cells.get("ExitCode") or None,
        _stated(cells.get("Reason")),
        _whole(cells.get("NNodes") or cells.get("NumNodes") or ""),
        _time(cells.get("Start")),
        _time(cells.get("End")),
    )  # fmt: skip


def _slurm_status(state: str) -> str | None:
    word = state.split()[0].rstrip("+")
    whole = state.split()[0] == word
    return next((s for n, s in SLURM.items() if n == word or (not whole and n.startswith(word))),
                None)  # fmt: skip


def _scontrol(lines: Sequence[str]) -> Iterator[AccountedJob]:
    """`scontrol show job`: blocks of Key=Value."""
    for number, block in _blocks(lines, lambda line: line.lstrip().startswith("JobId=")):
        cells = {key: value.strip() for line in block for key, value in PAIR.findall(line)}
        if "JobState" in cells:
            made = {"JobID": cells.get("JobId", "").split(" ")[0], "State": cells["JobState"]}
            made |= {"Start": cells.get("StartTime", ""), "End": cells.get("EndTime", "")}
            yield from _slurm(cells | made, number)


def _stepd(lines: Sequence[str]) -> Iterator[AccountedJob]:
    """The output of a job that printed nothing else: slurmstepd's message that it was ended."""
    memory = any("exceeded memory limit" in line or "oom" in line for line in lines)
    for number, line in enumerate(lines, 1):
        if match := ENDED.search(line):
            why = (match[3] or "").strip()
            status = "timeout" if "TIME LIMIT" in why else "oom" if memory else "cancelled"
            state = f"CANCELLED {why}".strip()
            yield AccountedJob(match[1], "slurm", state, status, number, ended=_time(match[2]))


def _qstat(lines: Sequence[str]) -> Iterator[AccountedJob]:
    """PBS, `qstat -f`: blocks of indented `key = value`, long values wrapped after a tab."""
    for number, block in _blocks(lines, lambda line: line.startswith("Job Id:")):
        cells: dict[str, str] = {}
        key = ""
        for line in block[1:]:
            name, equals, value = line.partition(" = ")
            if equals and line.startswith("    "):
                key = name.strip()
                cells[key] = value.strip()
            elif key and line.startswith("\t"):
                cells[key] += line.strip()
        yield from _pbs(block[0].partition(":")[2], cells, number)


def _tracejob(lines: Sequence[str]) -> Iterator[AccountedJob]:
    """PBS, `tracejob`: dated lines of what happened."""
    for number, block in _blocks(lines, lambda line: line.startswith("Job: ")):
        events = [(match[1], match[2]) for line in block if (match := TRACE.match(line))]
        cells = {"Exit_status": "", "comment": ""}
        for at, event in events:
            if match := EXIT.search(event):
                cells |= {"Exit_status": match[1], "mtime": at}
            elif "exceeded limit" in event or "deleted" in event:
                cells["comment"] = event
            elif "Job Run at request" in event or event.startswith("Job Run"):
                cells["stime"] = at
        if events:
            yield from _pbs(block[0].partition(":")[2], cells, number)


def _pbs(job: str, cells: Mapping[str, str], line: int) -> Iterator[AccountedJob]:
    job_id = job.strip().partition(".")[0]
    if not re.fullmatch(r"\d{1,12}(?:\[\d{0,9}\])?", job_id):
        return
    code = _whole(cells.get("Exit_status") or cells.get("exit_status") or "")
    comment = _stated(cells.get("comment"))
    if code is None:
        state, status = f"job_state={cells.get('job_state', '?')}", None
    else:
        state, status = f"Exit_status={code}", _pbs_status(code, comment or "")
    yield AccountedJob(
        job_id, "pbs", state, status, line, cells.get("Job_Name"),
        None if code is None else str(code), comment, _whole(cells.get("Resource_List.nodect", "")),
        _time(cells.get("stime")), _time(cells.get("mtime")) if status else None,
    )  # fmt: skip


def _pbs_status(code: int, comment: str) -> str:
    if "walltime" in comment and "exceeded" in comment:
        return "timeout"
    if code in PBS:
        return PBS[code]
    return PBS_SIGNALS.get(code - 256, "fail") if code > 256 else "fail"


def _pjm_list(lines: Sequence[str]) -> Iterator[AccountedJob]:
    """PJM, `pjstat`: columns between blanks, below a head."""
    head: list[str] = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if "JOB_ID" in words and "ST" in words:
            head = words
        elif head and words and words[0].partition("_")[0].isdigit() and len(words) >= 4:
            cells = dict(zip(head, words, strict=False))
            state = cells.get("ST", "?")
            yield AccountedJob(
                words[0], "pjm", state, PJM_STATES.get(state), number, cells.get("JOB_NAME")
            )


def _pjm_statistics(lines: Sequence[str]) -> Iterator[AccountedJob]:
    """PJM, `pjstat -s` and the .stats file of a job: `KEY : value`."""
    starts = lambda line: re.match(r"\s*JOB ID\s*:", line) is not None  # noqa: E731
    for number, block in _blocks(lines, starts):
        pairs = (match.groups() for line in block if (match := STATISTIC.match(line)))
        cells = {key: value.strip() for key, value in pairs}
        code, job_id = _whole(cells.get("PJM CODE", "")), cells["JOB ID"].split(" ")[0]
        state = cells.get("STATE", "?")
        known = PJM_STATES.get(state) if code is None else PJM.get(code, "fail")
        exit_code = cells.get("EXIT CODE") or None
        if known == "ok" and (_whole(exit_code or "") or 0) != 0:
            known = "fail"
        if job_id:
            yield AccountedJob(
                job_id, "pjm", state if code is None else f"PJM CODE {code}", known, number,
                cells.get("JOB NAME"), exit_code, _stated(cells.get("REASON")),
                _whole(cells.get("NODE NUM (ALLOC)", "").partition(":")[0]),
                _time(cells.get("JOB START DATE")), _time(cells.get("JOB END DATE")),
            )  # fmt: skip


def _blocks(
    lines: Sequence[str], starts: Callable[[str], bool]
) -> Iterator[tuple[int, Sequence[str]]]:
    """Lines from one that starts a block to the next, with the number of the first."""
    places = [place for place, line in enumerate(lines) if starts(line)]
    for place, end in pairwise([*places, len(lines)]):
        yield place + 1, lines[place:end]


def _stated(text: str | None) -> str | None:
    return None if text is None or text in ("", "None", "-", "(null)") else text


def _whole(text: str) -> int | None:
    match = re.fullmatch(r"-?\d{1,9}", text.strip())
    return int(match[0]) if match else None


def _time(text: str | None) -> datetime | None:
    plain = re.sub(r"\([^()]*+\)", "", text or "").strip()
    for form in TIMES:
        try:
            return datetime.strptime(plain, form)
        except ValueError:
            continue
    return None


FORMS: dict[str, Callable[[Sequence[str]], Iterator[AccountedJob]]] = {
    "sacct -P": _parsable,
    "sacct": _fixed,
    "scontrol": _scontrol,
    "slurmstepd": _stepd,
    "qstat": _qstat,
    "tracejob": _tracejob,
    "pjstat": _pjm_list,
    "pjstat -s": _pjm_statistics,
}
