"""A job's folder is a bundle: which companions belong to which runs, and what they say of them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from .migrate import now_utc
from .same_steps import EVENTS, same_steps
from .tellable import same as says_the_same
from .user_facts import BUNDLE, Match, UserFact, stated_columns
from .warehouse import Warehouse, transaction

# Written by the run itself first, then what was asked of it, then what stood around.
_ORDER = ("W&B machine", "W&B configuration", "Hydra configuration", "DeepSpeed configuration",
          "job script", "list of the environment", "list of packages")  # fmt: skip
_NUMBER = re.compile(r"(?<!\d)\d{4,12}(?!\d)")
_DATE = re.compile(r"(?:19|20)\d{2}(?:\d{2}){0,5}")
_ENDS = re.compile(r"(?:\.(?:log|out|err|txt|stdout|stderr|gz|xz|bz2|zst|o\d+|e\d+))+$", re.I)
_WANDB = re.compile(r"(?:offline-)?run-[\w-]+")
ALONE = "alone together"
# What a file of another job would say otherwise.
_TELLING = ("ranks", "dp", "tp", "pp", "cp", "ep", "mbs", "layers", "hidden", "heads", "seq_len")
Link = tuple[str, str | None, str]  # companion, run, why


@dataclass(frozen=True, slots=True)
class Log:
    """A log with runs: where it lies, its job ids, the files that it names."""

    source_id: str
    paths: tuple[PurePosixPath, ...]
    runs: tuple[str, ...]
    numbers: frozenset[str]
    names: frozenset[str]
    layouts: int  # in how many ways its runs lay out their ranks


@dataclass(frozen=True, slots=True)
class Companion:
    """A file beside logs: where it lies, what it is, the outputs and files that it names."""

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
    """Every companion with the runs that it surely belongs to; else with the reason why none.

    Only files of one folder go together (of W&B the folder of a run, of Hydra that above
    `.hydra`): by a job id in both names, by the same name, because one names the other, or
    because a log and one companion of its kind are alone there.
    """
    folders: dict[PurePosixPath, _Folder] = defaultdict(_Folder)
    for log in logs:
        for folder in {path.parent for path in log.paths}:
            folders[folder].logs.append(log)
    for one in companions:
        for home in {_home(path, folders) for path in one.paths}:
            folders[home].companions.append(one)
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
    """The folder whose logs a file speaks of."""
    folder = path.parent
    if folder.name == ".hydra":
        return folder.parent
    run = folder.parent
    if folder.name == "files" and _WANDB.fullmatch(run.name) and folder not in folders:
        # Nothing was printed into W&B's own folder: the job's folder is above `wandb`.
        others = [other for other in folders if other.parent.parent == run.parent]
        if run.parent.name == "wandb" and not others:
            return run.parent.parent
    return folder


def _of_folder(folder: _Folder) -> Iterator[Link]:
    evidence = _evidence(folder)
    kinds = Counter(one.format for one in folder.companions)
    for one in folder.companions:
        own = evidence[one.source_id]
        if not own and len(folder.logs) == 1 and kinds[one.format] == 1:
            own = {folder.logs[0].source_id: (folder.logs[0], ALONE)}
        if not own:
            yield one.source_id, None, _why_not(folder, kinds[one.format])
        for log, why in own.values():
            if log.layouts > 1:
                yield one.source_id, None, "the runs of the log lay out their ranks differently"
                continue
            for run in log.runs:
                yield one.source_id, run, why


def _evidence(folder: _Folder) -> dict[str, dict[str, tuple[Log, str]]]:
    """Of each companion the logs that it surely belongs to, with the first reason."""
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
    outputs = {one.source_id: _named(one, names) for one in folder.companions}
    for one in folder.companions:
        for name in one.files:
            by["the job script names it", name] += outputs[one.source_id]
    return {one.source_id: _sure(one, by, outputs[one.source_id]) for one in folder.companions}


def _sure(
    one: Companion, by: Mapping[tuple[str, str], Sequence[Log]], outputs: Sequence[Log]
) -> dict[str, tuple[Log, str]]:
    found: dict[str, tuple[Log, str]] = {}
    for path in one.paths:
        keys = [("job id", number) for number in sorted(_numbers(path.name))]
        keys += [("name", _stem(path.name))]
        if path.suffix:
            keys += [(why, path.name) for why in ("the log names it", "the job script names it")]
        for why, key in keys:
            for log in by.get((why, key), ()):
                found.setdefault(log.source_id, (log, why))
    for log in outputs:
        found.setdefault(log.source_id, (log, "it names the log"))
    return found


def _named(one: Companion, names: Mapping[str, Sequence[Log]]) -> list[Log]:
    """The logs that a script names as its output; %j and the like stand for any number."""
    found: list[Log] = []
    for output in one.outputs:
        last = output.rsplit("/", 1)[-1]
        if "%" not in last:
            found += names.get(last, ())
        elif pattern := _pattern(last):
            fits = re.compile(pattern).fullmatch
            found += (log for name, logs in names.items() if fits(name) for log in logs)
    return found


def _pattern(output: str) -> str:
    """The names that an output's pattern stands for; '' of one that is nothing but its number."""
    if not re.sub(r"%\d*[A-Za-z]|\.\w+$|[-_.]", "", output):
        return ""
    parts = re.split(r"%\d*([A-Za-z])", output)
    made = re.escape(parts[0])
    for letter, rest in zip(parts[1::2], parts[2::2], strict=True):
        made += (r"\d+" if letter in "jJAatnsIRm" else r"[^/]+") + re.escape(rest)
    return made


def _why_not(folder: _Folder, of_kind: int) -> str:
    if not folder.logs:
        return "no log with a run lies beside it"
    if len(folder.logs) == 1:
        return f"{of_kind} files of its kind lie beside the log, and nothing says which"
    return f"{len(folder.logs)} logs lie beside it, and nothing says which"


def _numbers(name: str) -> frozenset[str]:
    """Numbers of a name that may be job ids: no years and dates."""
    return frozenset(n for n in _NUMBER.findall(name) if not _DATE.fullmatch(n))


def _stem(name: str) -> str:
    """A file's name without what its end says of its kind; of `.hydra` and the like the name."""
    cut = _ENDS.sub("", name)
    return cut if cut != name else PurePosixPath(name).stem or name


def find_links(warehouse: Warehouse) -> list[Link]:
    """The links of what is in the warehouse."""
    # Asked of every command that reads paths: few of them hold a companion or an event file.
    kinds = "SELECT 1 FROM raw.sources WHERE kind = 'companion' OR format = ? LIMIT 1"
    if not warehouse.rows(kinds, [EVENTS]):
        return []
    companions, same = _companions(warehouse), same_steps(warehouse)
    if not companions:
        return same
    found = links(companions, _logs(warehouse))
    against = _contradictions(warehouse, [link for link in found if link[2] == ALONE])
    kept = {
        (source, None, f"it contradicts the log in {', '.join(names)}: of another run?")
        if (names := against.get((source, run)))
        else (source, run, why)
        for source, run, why in found
    }
    return sorted([*kept, *same], key=str)


def _contradictions(
    warehouse: Warehouse, found: Sequence[Link]
) -> dict[tuple[str, str | None], list[str]]:
    """Companions that lie beside a log by chance, as what they say of shape and layout tells."""
    if not found:
        return {}
    query = """SELECT s.source_id, f.field, f.value FROM sources s
               JOIN raw.facts f ON f.load_id = s.load_id AND f.scope = 'column'
               WHERE s.kind = 'companion' ORDER BY ALL"""
    said: dict[str, dict[str, str]] = defaultdict(dict)
    for source, name, value in warehouse.rows(query):
        said[source][name] = value
    stated = stated_columns(warehouse, _TELLING)
    against: dict[tuple[str, str | None], list[str]] = {}
    for source, run, _ in found:
        own = {name: stated[str(run), name] for name in _TELLING if (str(run), name) in stated}
        names = {
            name for name, value in said[source].items()
            if name in own and not says_the_same(name, own[name], value)
        }  # fmt: skip
        ranks, nodes = own.get("ranks", ""), said[source].get("nodes", "")
        if ranks.isdigit() and nodes.isdigit() and int(nodes) > int(ranks):
            names.add("nodes")
        if names:
            against[source, run] = sorted(names)
    return against


def store_links(warehouse: Warehouse, found: Sequence[Link]) -> bool:
    """Store the links as the newest set; False when they are."""
    set_id = _digest(found)
    if set_id == _newest(warehouse):
        return False
    with transaction(warehouse):
        known = warehouse.rows("SELECT 1 FROM raw.links WHERE set_id = ? LIMIT 1", [set_id])
        warehouse.con.execute("INSERT INTO raw.link_sets VALUES (?, ?)", [set_id, now_utc()])
        if found and not known:
            warehouse.con.executemany(
                "INSERT INTO raw.links VALUES (?, ?, ?, ?)", [[set_id, *link] for link in found]
            )
    return True


def are_stored(warehouse: Warehouse, found: Sequence[Link]) -> bool:
    """Whether the newest set of links is this one."""
    return _digest(found) == _newest(warehouse)


def bundle_facts(warehouse: Warehouse) -> Iterator[UserFact]:
    """What linked companions say of columns, as facts about their runs."""
    if not warehouse.rows("SELECT 1 FROM raw.links LIMIT 1"):
        return
    query = """SELECT r.source_id, c.run_id, f.field, f.value, c.format, c.uri, f.line
               FROM companions c JOIN sources s ON s.source_id = c.source_id
               JOIN raw.facts f ON f.load_id = s.load_id AND f.scope = 'column'
               JOIN runs r ON r.run_id = c.run_id
               ORDER BY list_position($order, c.format), c.uri, f.field, c.run_id"""
    for source, run, name, value, kind, uri, line in warehouse.rows(query, {"order": list(_ORDER)}):
        match = Match(source=source, run=run)
        yield UserFact(match, name, value, f"its {kind}", "", None, uri, line, BUNDLE)


def unlinked(warehouse: Warehouse, uris: Sequence[str]) -> list[str]:
    """The companions among these paths that belong to no run, each with the reason."""
    query = """SELECT uri, rule FROM companions
               WHERE run_id IS NULL AND list_contains(?, uri) ORDER BY uri"""
    return [f"{uri}: not used: {rule}" for uri, rule in warehouse.rows(query, [list(uris)])]


def _companions(warehouse: Warehouse) -> list[Companion]:
    query = """SELECT s.source_id, s.uris, s.format,
                   list(f.value) FILTER (f.scope = 'job' AND f.field = 'output'),
                   list(f.value) FILTER (f.scope = 'option'),
                   min(f.value) FILTER (f.scope = 'job' AND f.field = 'job_name')
               FROM sources s LEFT JOIN raw.facts f ON f.load_id = s.load_id
               WHERE s.kind = 'companion' GROUP BY ALL ORDER BY s.source_id"""
    return [
        Companion(source, _paths(uris), kind,
                  tuple(one.replace("%x", name or "%x") for one in outputs or ()),
                  _names(options or ()))
        for source, uris, kind, outputs, options, name in warehouse.rows(query)
    ]  # fmt: skip


def _logs(warehouse: Warehouse) -> list[Log]:
    """Every log with a run; an event file only where no log is printed beside it."""
    # Hidden runs too: what the links hide must not change them.
    query = """SELECT s.source_id, s.uris, list(r.run_id ORDER BY r.line),
                   flatten(list(r.job_ids)), any_value(n.names),
                   count(DISTINCT struct_pack(t.ranks, t.dp, t.tp, t.pp, t.nodes)), s.format
               FROM sources s JOIN raw.runs r ON r.load_id = s.load_id
               LEFT JOIN raw.topology t ON t.load_id = r.load_id AND t.run_id = r.run_id
               LEFT JOIN (
                   SELECT load_id, list(DISTINCT value) AS names FROM raw.facts
                   WHERE run_id IS NOT NULL AND length(value) < 1000
                       AND regexp_matches(value, '\\.(json|ya?ml|sh|sbatch|slurm)$')
                   GROUP BY ALL
               ) n ON n.load_id = s.load_id
               WHERE s.kind = 'log' GROUP BY s.source_id, s.uris, s.format ORDER BY s.source_id"""
    printed: list[Log] = []
    events: list[Log] = []
    for source, uris, runs, jobs, names, layouts, form in warehouse.rows(query):
        paths = _paths(uris)
        numbers = frozenset(jobs).union(*(_numbers(path.name) for path in paths))
        made = Log(source, paths, tuple(runs), numbers, _names(names or ()), layouts)
        (events if form == EVENTS else printed).append(made)
    folders = {path.parent for log in printed for path in log.paths}
    return printed + [log for log in events if not folders & {path.parent for path in log.paths}]


def _paths(uris: Iterable[str]) -> tuple[PurePosixPath, ...]:
    return tuple(map(PurePosixPath, uris))


def _names(values: Iterable[str]) -> frozenset[str]:
    return frozenset(value.rsplit("/", 1)[-1] for value in values)


def _digest(found: Sequence[Link]) -> str:
    return hashlib.sha256(repr(list(found)).encode()).hexdigest()[:16] if found else ""


def _newest(warehouse: Warehouse) -> str:
    query = "SELECT set_id FROM raw.link_sets ORDER BY made_at DESC, set_id LIMIT 1"
    return next((str(set_id) for (set_id,) in warehouse.rows(query)), "")
