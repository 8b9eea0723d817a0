"""What the processes of a run really are, as the kernel tells: memory held, libraries mapped.

A label has the request. A wrapper may lose `LD_PRELOAD`, and any program may set threads of
its own: so the processes are looked at while they run, here by us and in a job by its script.
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
SEEN = "seen"  # the file in which the script of a job tells what it saw
ALLOCATORS = ("tcmalloc", "jemalloc", "mimalloc", "hoard", "libxpmem", "mpg")
_LONGEST_S = 32  # between the looks of a script, which begin at 1 s and double
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.M)
_HELD = re.compile(r"^VmRSS:\s+(\d+) kB", re.M)


@dataclass(frozen=True, slots=True)
class Observation:
    """One process: the most memory it held in KiB, its own OMP_NUM_THREADS, libraries by file."""

    pid: int
    peak_kb: int
    threads: str | None
    libraries: frozenset[str]
    lost: frozenset[str] = frozenset()  # variables of the plan that it has otherwise, or not

    @property
    def allocator(self) -> str:
        """The memory allocator that is mapped: its file, or libc."""
        found = sorted(name for name in self.libraries if any(one in name for one in ALLOCATORS))
        return ", ".join(found) or "libc"


@dataclass(slots=True)
class ProcessProbe:
    """Remembers what was seen of each process; maps are read again when its memory doubled."""

    env: Mapping[str, str] = field(default_factory=dict)  # as the plan sets it
    _seen: dict[int, Observation] = field(default_factory=dict)
    _resident_at_maps: dict[int, int] = field(
        default_factory=dict
    )  # KiB at the last look at the maps

    def observe(self, pid: int) -> None:
        """Look at a process of this machine; one that is gone or not ours tells nothing."""
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
                    return  # it has just ended, and has no environment any more
                lost = {
                    name for name in verified(self.env) if values.get(name, "") != self.env[name]
                }
                threads, files = values.get(THREADS), _files(maps)
                self._seen[pid] = Observation(pid, int(peak[1]), threads, files, frozenset(lost))
                self._resident_at_maps[pid] = now
            else:
                self._seen[pid] = replace(known, peak_kb=int(peak[1]))

    def observations(self) -> tuple[Observation, ...]:
        """All processes that were seen."""
        return tuple(self._seen.values())


def _files(maps: str) -> frozenset[str]:
    places = (row.split(maxsplit=5) for row in maps.splitlines())
    names = {Path(place[5]).name for place in places if len(place) == 6}
    return frozenset(name for name in names if ".so" in name)


def largest(observations: Iterable[Observation]) -> list[Observation]:
    """Those that train: at least half as much memory as the largest; a shell in front has less."""
    every = list(observations)
    most = max((process.peak_kb for process in every), default=0)
    return [process for process in every if 2 * process.peak_kb >= most]


def allocators(observations: Iterable[Observation]) -> str | None:
    """What those that train have mapped; None: nobody looked."""
    return ", ".join(sorted({process.allocator for process in largest(observations)})) or None


def preloaded(case: Case) -> list[str]:
    """The libraries that a case is to be run with."""
    return [word for word in re.split(r"[:\s]+", case.env.get(PRELOAD, "")) if word]


def verified(env: Mapping[str, str]) -> list[str]:
    """The variables whose values have to be the plan's.

    Of two more is known than that; values of several lines a script cannot compare.
    """
    return [name for name, value in env.items() if name not in _OWN and "\n" not in value]


def mismatch(case: Case, observations: Sequence[Observation]) -> str | None:
    """What of the label the processes contradict; None: nothing, as far as they were seen."""
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
    """Maps name the file behind a link: libm.so.6 may be libm-2.31.so."""
    names = {Path(library).name}
    with suppress(OSError):
        names.add(Path(library).resolve(strict=True).name)
    stems = [re.escape(re.split(r"\.so\b", name)[0]) for name in names]
    return any(re.match(rf"(?:{'|'.join(stems)})(?:[-.]|$)", file) for file in files)


def shell(token: str, case: Case, file: Path) -> list[str]:
    """Lines of a script that watch beside the command which the script becomes with `exec`.

    They carry no token themselves, and nothing that the run is given. $$ is the command's.
    """
    words = [*ALLOCATORS, *(re.split(r"\.so\b", Path(name).name)[0] for name in preloaded(case))]
    names = "\\|".join(re.sub(r"([][\\.*^$/,])", r"\\\1", word) for word in words)
    find = shlex.quote(f"s,.*/\\([^/]*\\({names}\\)[^/]*\\)$,\\1,p")
    return [
        "# What the kernel tells of the processes: the launcher compares it with the label.",
        "( ( wait=1",
        f"  exec </dev/null >{shlex.quote(str(file))} 2>/dev/null",
        "  while sleep $wait && kill -0 $$; do",
        f"    for told in $(grep -lsz '^BENCH_LAUNCH_RUN={token}$' /proc/[0-9]*/environ); do",
        "      of=${told%/environ} lost=",
        *_compared(case.env),
        f"      threads=$(tr '\\0' '\\n' <$told | sed -n 's/^{THREADS}=//p')",
        f"      libraries=$(sed -n {find} $of/maps | sort -u | tr '\\n' ' ')",
        # Last: a process that has ended meanwhile used nothing.
        "      peak=$(sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' $of/status)",
        '      echo "${of#/proc/} ${peak:-0} ${threads:--} lost=$lost $libraries"',
        "    done",
        f"    [ $wait -ge {_LONGEST_S} ] || wait=$((2 * wait))",
        "  done ) & )",
    ]


def _compared(env: Mapping[str, str]) -> list[str]:
    """Values are compared by the shell itself: words of a program would show in `ps`."""
    return [
        f"      has=$(tr '\\0' '\\n' <$told | sed -n 's/^{name}=//p'); "
        f'[ "$has" = {shlex.quote(env[name])} ] || lost="$lost,{name}"'
        for name in verified(env)
    ]


def read_observations(file: Path) -> tuple[Observation, ...]:
    """What the script of a job saw, the newest look at each process; nothing: nobody looked."""
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
