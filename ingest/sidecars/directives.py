"""Directives of schedulers in job scripts: Slurm, Fujitsu's PJM, PBS."""

from __future__ import annotations

import re

from ...vocabulary.hardware import device_of
from .statement import Statements

_SBATCH = re.compile(
    r"#SBATCH\s+(?P<name>-\w|--[A-Za-z][\w-]*)(?:=|\s+)?(?P<value>\"[^\"]*\"|'[^']*'|[^\s#]*)"
)
_PJM = re.compile(
    r"#PJM\s+(?:(?:-L|--rsc-list|--mpi|--llio|-x)[\s=]+[\"']?(?P<pairs>[^\"'\n]+)[\"']?"
    r"|(?P<name>-{1,2}[A-Za-z][\w-]*)[\s=]*(?P<value>[^\s#]*))"
)
_PBS = re.compile(r"#PBS\s+-(?P<name>\w)\s*(?P<value>[^\s#]*)")
_LONG = {"N": "nodes", "n": "ntasks", "t": "time", "J": "job-name", "p": "partition",
         "A": "account", "C": "constraint", "o": "output", "e": "error", "G": "gpus",
         "c": "cpus-per-task", "w": "nodelist", "q": "qos"}  # fmt: skip
_JOB = {"time": "time_limit", "job-name": "job_name", "elapse": "time_limit",
        "walltime": "time_limit", "output": "output", "nodelist": "hosts"}  # fmt: skip
_PBS_COLUMNS = {
    "ppn": "procs_per_node", "mpiprocs": "procs_per_node",
    "ngpus": "devices_per_node", "gpus": "devices_per_node",
}  # fmt: skip


def read(text: str, stated: Statements) -> None:
    """The directives of a script; Slurm and PBS read them up to the first command."""
    begun = False
    for number, line in enumerate(text.split("\n"), 1):
        plain = line.strip()
        if match := _PJM.match(plain):
            _pjm(match, stated, number)
        elif not begun and (match := _SBATCH.match(plain)):
            name = match["name"].lstrip("-")
            _sbatch(_LONG.get(name, name), match["value"].strip("\"'"), stated, number)
        elif not begun and (match := _PBS.match(plain)):
            _pbs(match["name"], match["value"], stated, number)
        begun = begun or bool(plain and not plain.startswith("#"))


def _flag(stated: Statements, name: str, value: str, line: int) -> None:
    stated.add(name, value or "yes", "scheduler", line)
    if name.lstrip("-") in _JOB and value:
        stated.add(_JOB[name.lstrip("-")], value, "job", line)


def _sbatch(name: str, value: str, stated: Statements, line: int) -> None:
    _flag(stated, f"--{name}", value, line)
    if name == "nodes" and value.isdigit():
        stated.column("nodes", value, line)
    elif name in ("gres", "gpus-per-node"):
        _devices(value.removeprefix("gpu:"), stated, line)


def _devices(value: str, stated: Statements, line: int) -> None:
    """`4`, `a100:4`: of one node."""
    kind, _, count = value.rpartition(":")
    if count.isdigit():
        stated.column("devices_per_node", count, line)
        if kind and device_of(kind):
            stated.column("device", kind.upper(), line)


def _pjm(match: re.Match[str], stated: Statements, line: int) -> None:
    if not match["pairs"]:
        _flag(stated, match["name"], match["value"], line)
        return
    for pair in match["pairs"].split(","):
        name, _, value = (word.strip() for word in pair.partition("="))
        if not name:
            continue
        _flag(stated, name, value, line)
        if name == "node":
            _nodes(value, stated, line)
        elif name == "max-proc-per-node":
            stated.column("procs_per_node", value, line)
        elif name == "proc":
            stated.column("ranks", value, line)


def _nodes(value: str, stated: Statements, line: int) -> None:
    """`64`, `48x6x48:torus:strict-io`."""
    product = 1
    for part in value.split(":")[0].split("x"):
        if not part.isdigit():
            return
        product *= int(part)
    stated.column("nodes", str(product), line)


def _pbs(name: str, value: str, stated: Statements, line: int) -> None:
    if name == "N":
        stated.add("job_name", value, "job", line)
    if name != "l":
        stated.add(f"-{name}", value or "yes", "scheduler", line)
        return
    for pair in value.split(","):
        own, _, rest = pair.partition("=")
        _flag(stated, own, rest, line)
        first, *more = rest.split(":")
        inner = dict(part.partition("=")[::2] for part in more)
        if own in ("nodes", "select") and first.isdigit() and "+" not in rest:
            stated.column("nodes", first, line)
            for key in inner.keys() & _PBS_COLUMNS.keys():
                stated.column(_PBS_COLUMNS[key], inner[key], line)
