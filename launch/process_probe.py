"""Properties of a run's processes in /proc: peak memory, mapped libraries, variables.

A run's label states the request, but a wrapper may drop `LD_PRELOAD`, and a program may set its
own threads. So running processes are inspected: locally by us, in a job by its script.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..vocabulary.secrets import redact
from .cases import Case

THREADS = "OMP_NUM_THREADS"
PRELOAD = "LD_PRELOAD"
_OWN = frozenset((THREADS, PRELOAD))
SEEN = "seen"  # the file with the observations of a job's script
ALLOCATORS = ("tcmalloc", "jemalloc", "mimalloc", "hoard", "libxpmem", "mpg")
_LONGEST_S = 32  # between a script's observations; the interval starts at 1 s and doubles
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.M)
_HELD = re.compile(r"^VmRSS:\s+(\d+) kB", re.M)


@dataclass(frozen=True, slots=True)
class Observation:
    """One process: peak resident memory in KiB, its OMP_NUM_THREADS, mapped library files."""

    pid: int
    peak_kb: int
    threads: str | None
    libraries: frozenset[str]
    lost: frozenset[str] = frozenset()  # variables that differ from the plan

    @property
    def allocator(self) -> str:
        """The file of the mapped memory allocator, or libc."""
        found = sorted(
            name for name in self.libraries if any(allocator in name for allocator in ALLOCATORS)
        )
        return ", ".join(found) or "libc"


@dataclass(slots=True)
class ProcessProbe:
    """Observations of each process; its maps are read again when its memory has doubled."""

    env: Mapping[str, str] = field(default_factory=dict)  # of the plan
    _seen: dict[int, Observation] = field(default_factory=dict)
    _resident_at_maps: dict[int, int] = field(
        default_factory=dict
    )  # resident KiB when maps were last read

    def observe(self, pid: int) -> None:
        """Observe a local process; ignores one that has ended or is not ours."""
        folder = Path("/proc", str(pid))
        with suppress(OSError):
            status = (folder / "status").read_text()
            peak, resident = _PEAK.search(status), _HELD.search(status)
            if peak is None or resident is None:
                return  # a zombie
            known, now = self._seen.get(pid), int(resident[1])
            if known is None or now >= 2 * self._resident_at_maps[pid]:
                environ = (folder / "environ").read_bytes().decode("utf-8", "replace")
                values = dict(pair.partition("=")[::2] for pair in environ.split("\0"))
                maps = (folder / "maps").read_text(errors="replace")
                if not maps:
                    return  # just ended: its environment is gone
                lost = {
                    name for name in verified(self.env) if values.get(name, "") != self.env[name]
                }
                threads, files = values.get(THREADS), _files(maps)
                self._seen[pid] = Observation(pid, int(peak[1]), threads, files, frozenset(lost))
                self._resident_at_maps[pid] = now
            else:
                self._seen[pid] = replace(known, peak_kb=int(peak[1]))

    def observations(self) -> tuple[Observation, ...]:
        """The last observation of every process."""
        return tuple(self._seen.values())


def _files(maps: str) -> frozenset[str]:
    places = (row.split(maxsplit=5) for row in maps.splitlines())
    names = {Path(place[5]).name for place in places if len(place) == 6}
    return frozenset(name for name in names if ".so" in name)


def largest(observations: Iterable[Observation]) -> list[Observation]:
    """The training processes: at least half the memory of the largest, unlike wrapper shells."""
    every = list(observations)
    most = max((process.peak_kb for process in every), default=0)
    return [process for process in every if 2 * process.peak_kb >= most]


def allocators(observations: Iterable[Observation]) -> str | None:
    """The allocators of the training processes; None without observations."""
    return ", ".join(sorted({process.allocator for process in largest(observations)})) or None


def preloaded(case: Case) -> list[str]:
    """The libraries that a case preloads."""
    return [word for word in re.split(r"[:\s]+", case.env.get(PRELOAD, "")) if word]


def verified(env: Mapping[str, str]) -> list[str]:
    """The variables whose values are compared with the plan's.

    Threads and preloaded libraries have checks of their own; a script cannot compare values of
    several lines.
    """
    return [name for name, value in env.items() if name not in _OWN and "\n" not in value]


def mismatch(case: Case, observations: Sequence[Observation]) -> str | None:
    """How the observed processes contradict the label; None if they do not."""
    for process in largest(observations):
        who = f"process {process.pid} ({process.peak_kb >> 10} MB)"
        for library in preloaded(case):
            if not _is_among(library, process.libraries):
                name = Path(library).name
                return f"{PRELOAD} asks for {name}, but {who} had {process.allocator} mapped"
        wanted = case.env.get(THREADS) or case.settings.get("threads")
        if wanted is not None and process.threads is not None and process.threads != str(wanted):
            return f"{THREADS} = {wanted}, but {who} had {process.threads}"
        for name in sorted(process.lost & case.env.keys()):
            wanted_value = redact(name, case.env[name]) or "unset"
            return f"{name} is {wanted_value} in the plan, but not in {who}"
    return None


def _is_among(library: str, files: frozenset[str]) -> bool:
    """Whether a library is mapped: maps have the target of a link, so libm.so.6 may be
    libm-2.31.so.
    """
    names = {Path(library).name}
    with suppress(OSError):
        names.add(Path(library).resolve(strict=True).name)
    stems = [re.escape(re.split(r"\.so\b", name)[0]) for name in names]
    return any(re.match(rf"(?:{'|'.join(stems)})(?:[-.]|$)", file) for file in files)


def shell_probe(token: str, case: Case, file: Path) -> list[str]:
    """Script lines of a background loop that observes the command that follows with `exec`.

    The loop has neither the token nor the variables of the run. $$ is the pid of the command.
    """
    words = [*ALLOCATORS, *(re.split(r"\.so\b", Path(name).name)[0] for name in preloaded(case))]
    names = "\\|".join(re.sub(r"([][\\.*^$/,])", r"\\\1", word) for word in words)
    find = shlex.quote(f"s,.*/\\([^/]*\\({names}\\)[^/]*\\)$,\\1,p")
    return [
        "# Observes the processes in /proc: the launcher compares them with the label.",
        "( ( wait=1",
        f"  exec </dev/null >{shlex.quote(str(file))} 2>/dev/null",
        "  while sleep $wait && kill -0 $$; do",
        f"    for environ in $(grep -lsz '^BENCH_LAUNCH_RUN={token}$' /proc/[0-9]*/environ); do",
        "      process=${environ%/environ} lost=",
        *_compared(case.env),
        f"      threads=$(tr '\\0' '\\n' <$environ | sed -n 's/^{THREADS}=//p')",
        f"      libraries=$(sed -n {find} $process/maps | sort -u | tr '\\n' ' ')",
        # Last: no peak means that the process has ended meanwhile.
        "      peak=$(sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' $process/status)",
        '      echo "${process#/proc/} ${peak:-0} ${threads:--} lost=$lost $libraries"',
        "    done",
        f"    [ $wait -ge {_LONGEST_S} ] || wait=$((2 * wait))",
        "  done ) & )",
    ]


def _compared(env: Mapping[str, str]) -> list[str]:
    """Lines that compare values in the shell: arguments of a program would show in `ps`."""
    return [
        f"      has=$(tr '\\0' '\\n' <$environ | sed -n 's/^{name}=//p'); "
        f'[ "$has" = {shlex.quote(env[name])} ] || lost="$lost,{name}"'
        for name in verified(env)
    ]


def read_observations(file: Path) -> tuple[Observation, ...]:
    """The last observation of each process by a job's script; empty without the file."""
    seen: dict[int, Observation] = {}
    with suppress(OSError):
        for line in file.read_text(errors="replace").splitlines():
            row = re.fullmatch(r"(\d+) (\d+) (\S+) (?:lost=(\S*) )?(.*)", line)
            if row is not None and int(row[2]):
                threads = None if row[3] == "-" else row[3]
                lost, files = frozenset((row[4] or "").split(",")), frozenset(row[5].split())
                seen[int(row[1])] = Observation(
                    int(row[1]), int(row[2]), threads, files, lost - {""}
                )
    return tuple(seen.values())
