"""The environment of a run: variables to set, whether they can be, whether they were."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ..schema.errors import BenchError
from ..vocabulary.secret_commands import REDACTED
from ..vocabulary.secrets import redact
from .cases import Case
from .process_probe import PRELOAD, THREADS

UNBUFFERED = "PYTHONUNBUFFERED"  # otherwise a program with little output seems to hang
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


def run_variables(
    case: Case, inherited: Mapping[str, str], is_local: bool = True
) -> dict[str, str]:
    """The variables that a run gets in addition to ours; threads are divided unless they are set.

    On two cores, two ranks with two threads each were 8 times slower than with one each. The
    cores of another machine (`is_local` is false) are unknown: there the trainer divides them.
    """
    env = dict(case.env)
    wanted = case.settings.get("threads")
    if THREADS not in env and (wanted or is_local):
        env[THREADS] = str(wanted or max(1, cores() // max(case.ranks, 1)))
    for name in (PRELOAD, THREADS):
        if inherited.get(name):
            env.setdefault(name, "")  # what the plan does not name is on no label
    return env


def full_environment(case: Case, inherited: Mapping[str, str]) -> dict[str, str]:
    """All variables of a run, without those that the plan sets to an empty value."""
    own = run_variables(case, inherited)
    env = {**inherited, UNBUFFERED: "1", **own}
    return {name: value for name, value in env.items() if value or name not in own}


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require(case: Case) -> None:
    """Raises BenchError if a library named on the run's label cannot be loaded."""
    probe = shutil.which("true")
    if not case.env.get(PRELOAD) or probe is None:
        return
    env = full_environment(case, os.environ)  # with the LD_LIBRARY_PATH that the run will have
    done = subprocess.run([probe], env=env, capture_output=True, text=True, check=False)
    refused = _REFUSED.search(done.stderr)
    if refused:
        package = next((p for part, p in _PACKAGES.items() if part in refused[1]), None)
        install = f"apt-get install {package}, or " if package else ""
        raise BenchError(
            f"{PRELOAD} library cannot be loaded: {refused[1]}",
            why=f"loader: {refused[2]}; the run would silently go without it",
            where=case.label,
            hint=f"{install}use the full path, or set {LIBRARIES} in [env]",
        )


def mismatch(case: Case, log: Path) -> str | None:
    """How the run's own environment line contradicts the plan; None if it does not."""
    logged = _logged_environment(log)
    if logged is None:
        return None
    loaded, flags = str(logged.get("allocator", "")), logged.get("flags")
    for library in filter(None, re.split(r"[:\s]+", case.env.get(PRELOAD, ""))):
        stem = re.split(r"\.so", Path(library).name)[0]
        known = any(part in stem for part in _PACKAGES)
        if known and stem not in loaded:
            return f"{PRELOAD} asks for {Path(library).name}, but /proc/self/maps shows {loaded}"
    threads = case.settings.get("threads")
    if threads is None and case.env.get(THREADS):
        threads = int(case.env[THREADS].split(",")[0])
    if threads is not None and logged.get("threads") != threads:
        return f"threads = {threads}, but the process uses {logged.get('threads')}"
    return _differs(case.env, flags, logged.get("flags_like")) if isinstance(flags, dict) else None


def _differs(env: Mapping[str, str], flags: Mapping[str, object], like: object) -> str | None:
    """A variable of the plan that the listed ones contradict.

    All variables with a prefix in `like` are listed, so a missing one was not set.
    """
    listed = tuple(map(str, like)) if isinstance(like, list) else ()
    for name, value in env.items():
        divided = name == THREADS and not value  # by the trainer among its ranks
        if divided or not (name in flags or name.startswith(listed)):
            continue
        has = str(flags.get(name, ""))
        if has != value and (REDACTED not in has or not value):
            wanted = redact(name, value) or "unset"
            return f"{name} is {wanted} in the plan, but {has or 'unset'} in the process"
    return None


def _logged_environment(log: Path) -> dict[str, object] | None:
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith(_LABEL):
                try:
                    logged = json.loads(line.removeprefix(_LABEL))
                except ValueError:
                    return None
                return logged if isinstance(logged, dict) else None
    return None
