"""Links of sidecar files to runs: by names, job ids and the files that they name."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ..vocabulary.wildcards import is_quick

_NUMBER = re.compile(r"(?<!\d)\d{4,12}(?!\d)")
_DATE = re.compile(r"(?:19|20)\d{2}(?:\d{2}){0,5}")
_ENDS = re.compile(
    r"(?:\.(?:log|out|err|txt|csv|power|stdout|stderr|gz|xz|bz2|zst|o\d+|e\d+)){1,8}$", re.I
)
_WANDB = re.compile(r"(?:offline-)?run-[\w-]+")
ALONE = "alone together"
Link = tuple[str, str | None, str]  # companion, run, reason


@dataclass(frozen=True, slots=True)
class Log:
    """A log with runs: its place, its job ids, the files that it names."""

    source_id: str
    paths: tuple[PurePosixPath, ...]
    runs: tuple[str, ...]
    numbers: frozenset[str]
    names: frozenset[str]
    layouts: int  # number of different rank layouts among its runs


@dataclass(frozen=True, slots=True)
class Companion:
    """A sidecar file: its place, its kind, the outputs and files that it names."""

    source_id: str
    paths: tuple[PurePosixPath, ...]
    format: str
    outputs: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Folder:
    logs: list[Log] = field(default_factory=list)
    companions: list[Companion] = field(default_factory=list)


def links(companions: Sequence[Companion], logs: Sequence[Log]) -> list[Link]:
    """Every companion with the runs that it belongs to; else with the reason for none.

    Only files of one folder are linked (of W&B the folder of a run, of Hydra that above `.hydra`):
    by a job id in both names, by the same name, because one names the other, or because a log and
    one companion of its kind are alone there.
    """
    folders: dict[PurePosixPath, _Folder] = defaultdict(_Folder)
    for log in logs:
        for folder in {path.parent for path in log.paths}:
            folders[folder].logs.append(log)
    for companion in companions:
        for home in {_home(path, folders) for path in companion.paths}:
            folders[home].companions.append(companion)
    found: dict[tuple[str, str | None], str] = {}
    for _, bundle in sorted(folders.items()):
        for source, run, why in _of_folder(bundle):
            found.setdefault((source, run), why)
    linked = {source for source, run in found if run is not None}
    return sorted(
        ((source, run, why) for (source, run), why in found.items() if run or source not in linked),
        key=str,
    )


def _home(path: PurePosixPath, folders: dict[PurePosixPath, _Folder]) -> PurePosixPath:
    """The folder of the logs that a file belongs to."""
    folder = path.parent
    if folder.name == ".hydra":
        return folder.parent
    run = folder.parent
    if folder.name == "files" and _WANDB.fullmatch(run.name) and folder not in folders:
        # Without logs in W&B's own folder: the job's folder is above `wandb`.
        others = [other for other in folders if other.parent.parent == run.parent]
        if run.parent.name == "wandb" and not others:
            return run.parent.parent
    return folder


def _of_folder(folder: _Folder) -> Iterator[Link]:
    evidence = _evidence(folder)
    kinds = Counter(companion.format for companion in folder.companions)
    for companion in folder.companions:
        own = evidence[companion.source_id]
        if not own and len(folder.logs) == 1 and kinds[companion.format] == 1:
            own = {folder.logs[0].source_id: (folder.logs[0], ALONE)}
        if not own:
            yield companion.source_id, None, _why_not(folder, kinds[companion.format])
        for log, why in own.values():
            if log.layouts > 1:
                yield (
                    companion.source_id,
                    None,
                    "the runs of the log lay out their ranks differently",
                )
                continue
            for run in log.runs:
                yield companion.source_id, run, why


def _evidence(folder: _Folder) -> dict[str, dict[str, tuple[Log, str]]]:
    """For each companion the logs that it belongs to, with the first reason."""
    by: dict[tuple[str, str], list[Log]] = defaultdict(list)
    for log in folder.logs:
        keys = {("job id", number) for number in log.numbers}
        keys |= {("name", _stem(path.name)) for path in log.paths}
        keys |= {("the log names it", name) for name in log.names}
        for key in keys:
            by[key].append(log)
    names: dict[str, list[Log]] = defaultdict(list)
    for log in folder.logs:
        for path in log.paths:
            names[path.name].append(log)
    outputs = {companion.source_id: _named(companion, names) for companion in folder.companions}
    for companion in folder.companions:
        for name in companion.files:
            by["the job script names it", name] += outputs[companion.source_id]
    return {
        companion.source_id: _sure(companion, by, outputs[companion.source_id])
        for companion in folder.companions
    }


def _sure(
    companion: Companion, by: Mapping[tuple[str, str], Sequence[Log]], outputs: Sequence[Log]
) -> dict[str, tuple[Log, str]]:
    found: dict[str, tuple[Log, str]] = {}
    for path in companion.paths:
        keys = [("job id", number) for number in sorted(numbers_of(path.name))]
        keys += [("name", _stem(path.name))]
        if path.suffix:
            keys += [(why, path.name) for why in ("the log names it", "the job script names it")]
        for why, key in keys:
            for log in by.get((why, key), ()):
                found.setdefault(log.source_id, (log, why))
    for log in outputs:
        found.setdefault(log.source_id, (log, "it names the log"))
    return found


def _named(companion: Companion, names: Mapping[str, Sequence[Log]]) -> list[Log]:
    """The logs that a script names as its output; %j and similar match any number."""
    logs: list[Log] = []
    for output in companion.outputs:
        last = output.rsplit("/", 1)[-1]
        if "%" not in last:
            logs += names.get(last, ())
        elif pattern := _pattern(last):
            fits, literals = re.compile(pattern[0]).fullmatch, pattern[1]
            quick = (name for name in names if is_quick(literals, name))
            logs += (log for name in quick if fits(name) for log in names[name])
    return logs


def _pattern(output: str) -> tuple[str, list[str]] | None:
    """The name pattern of an output, and the literals after its placeholders.

    None for one that is only its number.
    """
    if not re.sub(r"%\d*[A-Za-z]|\.\w+$|[-_.]", "", output):
        return None
    parts = re.split(r"%\d*([A-Za-z])", output)
    made = re.escape(parts[0])
    for letter, rest in zip(parts[1::2], parts[2::2], strict=True):
        made += (r"\d+" if letter in "jJAatnsIRm" else r"[^/]+") + re.escape(rest)
    return made, parts[2::2]


def _why_not(folder: _Folder, of_kind: int) -> str:
    if not folder.logs:
        return "no log with a run in its directory"
    if len(folder.logs) == 1:
        return f"ambiguous: {of_kind} files of its kind next to the log"
    return f"ambiguous: {len(folder.logs)} logs in its directory"


def numbers_of(name: str) -> frozenset[str]:
    """Numbers in a name that may be job ids: no years and dates."""
    return frozenset(n for n in _NUMBER.findall(name) if not _DATE.fullmatch(n))


def _stem(name: str) -> str:
    """A file's name without the suffixes of its kind; for `.hydra` and similar the name."""
    cut = _ENDS.sub("", name)
    return cut if cut != name else PurePosixPath(name).stem or name
