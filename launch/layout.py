"""Processes over nodes, as a plan and its options of the scheduler say: do they multiply out?"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

Words = Mapping[str, object]
# What the schedulers call the processes of a node, and the nodes themselves.
EACH = ("ntasks-per-node", "mpiprocs", "max-proc-per-node")
NODES = ("node", "nodes")
_SHAPE = re.compile(r"(\d+(?:x\d+)*)(?::.*)?")


def nodes_of(settings: Words, job: Words) -> int:
    """Nodes of a run: what the settings say, else the options (`2x3x2:torus` is 12), else 1."""
    said = settings.get("nodes")
    return said if isinstance(said, int) else _by_options(job) or 1


def misfit(settings: Words, job: Words, ranks: int | None) -> str | None:
    """Why a run cannot be laid out, with the numbers; None: it can, or ranks are not known."""
    nodes, named = nodes_of(settings, job), _by_options(job)
    if named is not None and named != nodes:
        return f"nodes = {nodes}, but the options of the job come to {named} nodes"
    if ranks is None:
        return None
    for word in EACH:
        each = job.get(word)
        if isinstance(each, int) and nodes * each != ranks:
            return f"{nodes} nodes x {word} {each} = {nodes * each}, but {_sizes(settings, ranks)}"
    if ranks % nodes:
        return (
            f"{_sizes(settings, ranks)} do not divide among {nodes} nodes: "
            f"{ranks} % {nodes} = {ranks % nodes}"
        )
    return None


def _by_options(job: Words) -> int | None:
    for word in NODES:
        shape = _SHAPE.fullmatch(str(job.get(word, "")))
        if shape is not None:
            return math.prod(map(int, shape[1].split("x")))
    return None


def _sizes(settings: Words, ranks: int) -> str:
    cuts = " x ".join(f"{name.upper()} {settings.get(name, 1)}" for name in ("dp", "tp", "pp"))
    return f"{cuts} = {ranks} processes"
