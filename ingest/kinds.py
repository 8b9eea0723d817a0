"""What a file may be, by its name and its first bytes; readers of rare kinds are imported later."""

from __future__ import annotations

import re
from pathlib import PurePath

# Suffixes and names of sidecars.
SCRIPTS = frozenset((".sh", ".bash", ".sbatch", ".slurm", ".pbs", ".pjm", ".job", ".sub", ".qsub"))
OF_PACKAGES = re.compile(r"(?:requirements|pip|packages)[\w.-]*\.txt|freeze[\w.-]*\.txt", re.I)
OF_ENVIRONMENT = re.compile(
    r"(?:env|environ|environment|printenv)[\w.-]*(?:\.txt|\.env)?|\.deepspeed_env", re.I
)
# The column of `nvidia-smi --query-gpu=...,power.draw --format=csv`, with and without units.
_SMI = re.compile(r"power\.draw(?:\.average|\.instant)?(?: \[W\])?")
DMON, POWER = re.compile(r"#\s{0,4}Entity\s"), "POWER"  # dcgmi dmon -e 155
_JPWR = re.compile(r"(?:pynvml|rocm):.+")  # of a device; other methods measure the same devices
_DOCKER = re.compile(
    rb'\{"log":"(?:[^"\\]|\\.){0,65536}+"(?:,"\w+":(?:"[^"]*"|\{[^}]*\}))*\}\r?$', re.M
)
_ACCOUNTING = (
    b"JobID", b"JobId=", b"Job Id:", b"Job: ", b"JOB_ID", b"JOB ID", b" CANCELLED AT ",
)  # fmt: skip


class NoReader(OSError):
    """The program that reads a kind of file is not installed."""


def is_event_file(path: str) -> bool:
    """Whether a file is called as TensorBoard calls its event files."""
    return ".tfevents." in path.rsplit("/", 1)[-1]


def may_be_jobs(head: bytes) -> bool:
    """Whether the beginning of a file has one of the headings of accounting files."""
    return any(word in head for word in _ACCOUNTING)


def may_be_sidecar(path: str, head: bytes) -> bool:
    """Whether a file may be a sidecar, by its name and its first bytes."""
    name, suffix = PurePath(path).name, PurePath(path).suffix.lower()
    named = suffix in SCRIPTS or suffix in (".json", ".yaml", ".yml") or head.startswith(b"#!")
    listed = OF_PACKAGES.fullmatch(name) or OF_ENVIRONMENT.fullmatch(name)
    return named or bool(listed) or are_samples(head)


def are_samples(head: bytes) -> bool:
    """Whether the head of a file is that of power samples."""
    first = head[:2000].decode("utf-8", "replace").partition("\n")[0]
    return bool(DMON.match(first) and POWER in first.split()) or bool(columns_of_power(first))


def columns_of_power(first: str) -> list[int]:
    """The columns of power in the first line of a table."""
    heads = [head.strip().strip('"') for head in first.split(",")]
    smi = [at for at, head in enumerate(heads) if _SMI.fullmatch(head)]
    timed = heads[:2] == ["", "timestamps"]
    return smi[:1] or [at for at, head in enumerate(heads) if timed and _JPWR.fullmatch(head)]


def is_of_docker(head: bytes) -> bool:
    """Whether a file is one of Docker's json-file driver: an object a line, `log` first."""
    return head.startswith(b'{"log":"') and _DOCKER.match(head) is not None


def is_trainer_state(head: bytes) -> bool:
    """Whether a file is a `trainer_state.json` of HF Trainer."""
    return head.lstrip().startswith(b"{") and b'\n  "log_history": [\n' in head
