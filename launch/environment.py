"""The environment of a run: what is set, whether it can be, whether it was."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ..ingest.secrets import REDACTED, redact
from ..schema.errors import BenchError
from .cases import Case
from .witness import PRELOAD, THREADS

UNBUFFERED = "PYTHONUNBUFFERED"  # else a program that prints little seems to hang
LIBRARIES = "LD_LIBRARY_PATH"
_LABEL = "environment: "
_REFUSED = re.compile(
    r"ERROR: ld\.so: object '([^']*)' from LD_PRELOAD cannot be preloaded \(([^)]*)"
)
_PACKAGES = {
    "tcmalloc_minimal": "libtcmalloc-minimal4",
    "tcmalloc": "google-perftools",
    "jemalloc": "libjemalloc2",
    "mimalloc": "libmimalloc2.0",
}


def chosen(case: Case, inherited: Mapping[str, str], here: bool = True) -> dict[str, str]:
    """The variables that a run is given on top of ours; threads are shared out unless chosen.

    Two threads for each of two ranks on two cores were 8 times slower than one each. Of another
    machine (`here` is false) we know no cores: the trainer shares them out there.
    """
    env = dict(case.env)
    asked = case.settings.get("threads")
    if THREADS not in env and (asked or here):
        env[THREADS] = str(asked or max(1, cores() // max(case.ranks, 1)))
    for name in (PRELOAD, THREADS):
        if inherited.get(name):
            env.setdefault(name, "")  # what the plan does not name would be on no label
    return env


def whole(case: Case, inherited: Mapping[str, str]) -> dict[str, str]:
    """All variables of a run; one that the plan sets to nothing is not there."""
    own = chosen(case, inherited)
    env = {**inherited, UNBUFFERED: "1", **own}
    return {name: value for name, value in env.items() if value or name not in own}


def cores() -> int:
    """Processors that we may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require(case: Case) -> None:
    """Raises BenchError when a library that the run is named after cannot be loaded."""
    probe = shutil.which("true")
    if not case.env.get(PRELOAD) or probe is None:
        return
    env = whole(case, os.environ)  # with the LD_LIBRARY_PATH that the run will have
    done = subprocess.run([probe], env=env, capture_output=True, text=True, check=False)
    refused = _REFUSED.search(done.stderr)
    if refused:
        package = next((p for part, p in _PACKAGES.items() if part in refused[1]), None)
        install = f"apt-get install {package}, or " if package else ""
        raise BenchError(
            f"{PRELOAD} names a library that cannot be loaded: {refused[1]}",
            why=f"the loader says: {refused[2]}; the run would go on without it",
            where=case.label,
            hint=f"{install}give the whole path of the library, or {LIBRARIES} in [env]",
        )


def belied(case: Case, log: Path) -> str | None:
    """What of the plan the run's own environment line contradicts; None: nothing."""
    told = _told(log)
    if told is None:
        return None
    loaded, flags = str(told.get("allocator", "")), told.get("flags")
    for library in filter(None, re.split(r"[:\s]+", case.env.get(PRELOAD, ""))):
        stem = re.split(r"\.so", Path(library).name)[0]
        known = any(part in stem for part in _PACKAGES)
        if known and stem not in loaded:
            return f"{PRELOAD} asks for {Path(library).name}, but /proc/self/maps shows {loaded}"
    threads = case.settings.get("threads")
    if threads is None and case.env.get(THREADS):
        threads = int(case.env[THREADS].split(",")[0])
    if threads is not None and told.get("threads") != threads:
        return f"threads = {threads}, but the process has {told.get('threads')}"
    return _differs(case.env, flags, told.get("flags_like")) if isinstance(flags, dict) else None


def _differs(env: Mapping[str, str], flags: Mapping[str, object], like: object) -> str | None:
    """A variable of the plan that the listed ones contradict; `like`: how names begin of which
    all are listed, so that one that is not there never came."""
    listed = tuple(map(str, like)) if isinstance(like, list) else ()
    for name, value in env.items():
        shared_out = name == THREADS and not value  # by the trainer, among its ranks
        if shared_out or not (name in flags or name.startswith(listed)):
            continue
        has = str(flags.get(name, ""))
        if has != value and (REDACTED not in has or not value):
            asked = redact(name, value) or "not set"
            return f"{name} is {asked} in the plan, but {has or 'not set'} in the process"
    return None


def _told(log: Path) -> dict[str, object] | None:
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith(_LABEL):
                try:
                    told = json.loads(line.removeprefix(_LABEL))
                except ValueError:
                    return None
                return told if isinstance(told, dict) else None
    return None
