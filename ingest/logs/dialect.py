"""Log formats: one TOML file of `dialects/` each, tested by its own sample lines."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import accumulate
from pathlib import Path

from ...schema.arrow import shapes
from ...schema.errors import BenchError
from ...vocabulary.package_cache import cached
from ..version import check_folder
from .declaration import SAMPLE_KEYS, Reader, Toml, broken, loads, only, parse, reader, texts
from .lines import peel
from .pattern_safety import LONGEST, slow_pattern
from .readers import PairsReader, PatternReader
from .record import NO_COLUMNS, Fields, Record

BETWEEN = "\0"  # two samples


@dataclass(frozen=True, slots=True)
class Sample:
    """A line of a real log, its source, and the complete row it gives."""

    line: str
    source: str
    row: Fields


@dataclass(frozen=True, eq=False)
class Dialect:
    """One log format: the pattern of its lines, and their role in a run.

    Its reader is made, and its patterns compiled, when its first line is read: a log has lines of
    a few formats only.
    """

    name: str
    file: Traversable = field(repr=False)
    declaration: Toml = field(repr=False)  # without the samples where it comes from the cache
    reads: str
    hints: tuple[str, ...]  # every line of the format contains one
    framework: str | None = None
    set: Fields = field(default_factory=dict)
    opens: str | None = None  # a block that this line opens,
    closes: str | None = None  # closes,
    within: str | None = None  # or has to be in
    scope: str = "arguments"  # of arguments: where the fact is stated
    quiet: bool = False  # unread lines within the block carry no values
    starts_run: bool = False
    secondary: bool = False  # the framework's own line has precedence
    buffered: bool = False  # on another stream, maybe late, with an epoch instead of a step
    every_rank: bool = False  # ranks repeat the line with other numbers: a step counts once
    precedes_step: bool = False  # a part that is printed above its step
    from_zero: bool = False  # the first step is 0: the last one is one below their number
    progress_bar: bool = False  # counts where its total is the number of planned steps
    exclusive: bool = False  # no other format reads its lines, whatever they quote: tried first
    refines: str | None = None  # this line is more specific than a failure of this status
    longest: int = 1 << 62  # characters of a line that it is tried on

    @cached_property
    def reader(self) -> Reader:
        """The reader of its lines. Raises BenchError for a declaration without one."""
        return reader(self.file, self.declaration)

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """Its sample lines. Raises BenchError for an incomplete one."""
        return _samples(self.file, self.declaration)

    def read(self, text: str) -> Record | None:
        """The first record of this format on the line."""
        for hint in self.hints:
            if hint in text:
                break
        else:
            return None
        if len(text) > self.longest:
            return None
        record = self.reader.read(self.name, self.reads, text)
        if record is not None and self.set:
            record = replace(record, fields=self.set | record.fields)
        return record


def load(file: Traversable, *folders: Traversable) -> Dialect:
    """One format from its file; a sample that gives another row than declared is an error.

    `folders` are those in which a format that it is `like` may lie.
    """
    dialect = declared(file, *folders)
    for number, sample in enumerate(dialect.samples, 1):
        _prove(file, dialect, number, sample)
    return dialect


def declared(file: Traversable, *folders: Traversable) -> Dialect:
    """One format from its file, untested."""
    return _of_declaration(file, parse(file, *folders))


def _of_declaration(file: Traversable, toml: Toml) -> Dialect:
    keys = ("framework", "opens", "closes", "within", "refines")
    optional = {key: str(toml[key]) if key in toml else None for key in keys}
    return Dialect(
        name=file.name.removesuffix(".toml"),
        file=file,
        declaration=toml,
        reads=str(toml["reads"]),
        hints=texts(file, "hint", toml["hint"]),
        set=_set(file, toml),
        scope=str(toml.get("scope", "arguments")),
        starts_run=toml.get("starts_run") is True,
        secondary=toml.get("secondary") is True,
        buffered=toml.get("buffered") is True,
        every_rank=toml.get("every_rank") is True,
        quiet=toml.get("quiet") is True,
        precedes_step=toml.get("precedes_step") is True,
        from_zero=toml.get("from_zero") is True,
        progress_bar=toml.get("progress_bar") is True,
        exclusive=toml.get("exclusive") is True,
        framework=optional["framework"],
        opens=optional["opens"],
        closes=optional["closes"],
        within=optional["within"],
        refines=optional["refines"],
    )


def _set(file: Traversable, toml: Toml) -> Fields:
    fields = toml.get("set", {})
    if not isinstance(fields, Mapping):
        raise broken(file, "`set` is no table")
    return dict(fields)


def _samples(file: Traversable, toml: Toml) -> tuple[Sample, ...]:
    samples = toml["sample"] if "sample" in toml else loads(file)["sample"]
    if not isinstance(samples, list):
        raise broken(file, "`sample` is no list: write [[sample]]")
    for number, sample in enumerate(samples, 1):
        only(file, f"sample {number}", sample, SAMPLE_KEYS)
        if not sample.keys() >= SAMPLE_KEYS:
            raise broken(file, f"sample {number} lacks one of line, source, row")
    return tuple(Sample(sample["line"], sample["source"], sample["row"]) for sample in samples)


def _prove(file: Traversable, dialect: Dialect, number: int, sample: Sample) -> None:
    record = dialect.read(sample.line)
    if record is None:
        raise broken(file, f"sample {number} is not read by its own format", sample.line)
    if record.fields != sample.row:
        ours = {k: v for k, v in record.fields.items() if sample.row.get(k) != v}
        lost = {k: v for k, v in sample.row.items() if k not in record.fields}
        raise broken(file, f"sample {number} gives another row", f"read {ours}, missing {lost}")
    prefixes, text = peel(sample.line)
    if prefixes and ((behind := dialect.read(text)) is None or behind.fields != sample.row):
        what = f"sample {number} is not read without its prefix"
        hint = "times, ranks and hosts in front are removed first: begin the pattern after them"
        raise broken(file, what, " ".join(prefixes), hint)


def load_folder(*folders: Traversable) -> tuple[Dialect, ...]:
    """Every format of these folders, in the order of trying; no two have the same name."""
    files = {file.name: file for folder in folders for file in _files(folder)}
    for file in (file for folder in folders for file in _files(folder)):
        if files[file.name] != file:
            taken = "bench has a format of this name"
            raise broken(files[file.name], taken, hint="choose another name")
    ordered = in_order([load(file, *folders) for _, file in sorted(files.items())])
    for dialect in ordered:
        for sample in dialect.samples:
            winner = claimant(ordered, dialect, sample)
            if winner != dialect.name:
                what = f"format {dialect.name}: its sample is read as {winner}"
                raise BenchError(what, why=sample.line, hint="make one of the patterns stricter")
    return ordered


def _files(folder: Traversable) -> list[Traversable]:
    return [file for file in folder.iterdir() if file.name.endswith(".toml")]


def claimant(ordered: Iterable[Dialect], own: Dialect, sample: Sample) -> str | None:
    """The format that gets a sample of `own`."""
    for dialect in ordered:
        if dialect.within in (None, own.within) and dialect.read(sample.line):
            return dialect.name
    return None


def in_order(dialects: Iterable[Dialect]) -> tuple[Dialect, ...]:
    """The format that reads the fewest of the others' samples first; no order is set by hand.

    Exclusive formats come before: what their lines quote is no record.
    """
    every = list(dialects)
    counts = {d.name: took for d, took in zip(every, _taken(every), strict=True)}
    taken = {name: set(took) for name, took in counts.items()}
    count = {name: took.total() for name, took in counts.items()}
    for first in every:
        for second in every:
            mutual = first.name in taken[second.name] and second.name in taken[first.name]
            if first.name < second.name and mutual and count[first.name] == count[second.name]:
                what = f"formats {first.name} and {second.name} read each other's samples"
                raise BenchError(what, hint="make one pattern stricter: order is not set by hand")
    return tuple(sorted(every, key=lambda d: (not d.exclusive, count[d.name], d.name)))


def _taken(dialects: Sequence[Dialect]) -> Iterator[Counter[str]]:
    """For each format, how many samples of each other one it reads, outside of other blocks."""
    samples = [(other, sample.line) for other in dialects for sample in other.samples]
    # Samples are searched for hints all at once: most formats are tried on a few of them.
    text = BETWEEN.join(line for _, line in samples)
    starts = [0, *accumulate(len(line) + len(BETWEEN) for _, line in samples)]
    for dialect in dialects:
        found = {bisect_right(starts, at) - 1 for hint in dialect.hints for at in _all(hint, text)}
        others = [samples[place] for place in found if samples[place][0] is not dialect]
        yield Counter(
            other.name
            for other, line in others
            if not (dialect.within and other.within and dialect.within != other.within)
            and dialect.read(line) is not None
        )


def _all(part: str, text: str) -> Iterator[int]:
    """Where a part occurs in a text."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def dialects(own: Path | None = None) -> tuple[Dialect, ...]:
    """The formats of the package and of a user's own folder, in the order of trying.

    Raises BenchError for a missing folder and for a format that its samples disprove.
    """
    return _dialects(own)  # a cache keeps f() and f(None) apart, and 200 files would be read twice


@functools.cache
def _dialects(own: Path | None) -> tuple[Dialect, ...]:
    code = resources.files(__package__)
    ours = resources.files("bench.ingest.dialects")
    if own is None:
        return _ours(code, ours)
    check_folder(own)
    made = load_folder(ours, own)
    names = {file.name.removesuffix(".toml"): file for file in _files(own)}
    users = [dialect for dialect in made if dialect.name in names]
    for dialect in users:
        _check_columns(names[dialect.name], dialect)
    tried = [(d.name, text, [s.line for s in d.samples]) for d in users for text in patterns_of(d)]
    if slow := slow_pattern(tried):
        hint = "no repeat within a repeat, and at most two of `.*`; spell out the text between"
        raise broken(names[slow], "on some lines its pattern takes forever", hint=hint)
    return tuple(replace(d, longest=LONGEST) if d in users else d for d in made)


def _ours(package: Traversable, folder: Traversable) -> tuple[Dialect, ...]:
    """The formats of the package, which its tests have checked, in their order."""
    files = sorted(_files(folder), key=lambda file: file.name)
    code = [package.joinpath(f"{name}.py") for name in ("declaration", "dialect")]

    def made() -> dict[str, Toml]:
        ordered = in_order([declared(file, folder) for file in files])
        return {one.file.name: _without_samples(one.declaration) for one in ordered}

    kept = cached("formats", [*files, *code], made)
    by_name = {file.name: file for file in files}  # `joinpath` lists the folder each time
    return tuple(_of_declaration(by_name[name], toml) for name, toml in kept.items())


def _without_samples(toml: Toml) -> Toml:
    return {key: value for key, value in toml.items() if key != "sample"}


def patterns_of(dialect: Dialect) -> list[str]:
    """The regular expressions of a format."""
    reader = dialect.reader
    if isinstance(reader, PatternReader):
        return [reader.pattern.pattern]
    also = [reader.pair.pattern] if isinstance(reader, PairsReader) else []
    return [reader.anchor.pattern, *also]


def _check_columns(file: Traversable, dialect: Dialect) -> None:
    """A step's values go into columns of the iterations, or into `more` as printed."""
    if dialect.reads not in ("iteration", "part"):
        return
    known = {*shapes()["iterations"].schema.names, *NO_COLUMNS}
    for sample in dialect.samples:
        for column in sample.row.keys() - known:
            hint = 'columns: docs/warehouse.md; or keep it as printed: column = "more.NAME"'
            raise broken(file, f"`{column}` is no column of iterations", hint=hint)
