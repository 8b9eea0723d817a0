"""Paths of warehouse and templates: from flag, environment, `bench.toml`, default."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..schema.errors import BenchError, did_you_mean
from ..schema.location import located, path_of
from ..vocabulary.package_cache import cached
from ..vocabulary.prices import NO_PRICES, Price, Prices
from ..vocabulary.regular_files import read_text
from ..vocabulary.sizes import Length, parse_length, parse_size
from .repository import FILE, find_file, inside

if TYPE_CHECKING:
    from tomllib import TOMLDecodeError

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from .path_patterns import PathPattern

DEFAULT_DB = "bench.duckdb"
_LARGEST = 1 << 20  # bytes
_MOST_ERRORS = 20  # that are looked up in the text
_PATHS = re.compile(r"\s*\[\[paths\]\]")


@dataclass(frozen=True)
class JobSettings:
    """Settings of a job in a pull or merge request."""

    comment: str = "on-change"
    comment_id: str = "bench"
    fail_on: tuple[str, ...] = ("stale",)


@dataclass(frozen=True)
class Settings:
    """Settings of `bench.toml`; paths are absolute, None where unset or without a file."""

    file: Path | None = None
    db: Path | None = None
    templates: Path | None = None
    formats: Path | None = None
    facts: Path | None = None
    sources: tuple[Path, ...] = ()
    pages: tuple[str, ...] = ()
    paths: tuple[PathPattern, ...] = ()
    lengths: Mapping[float, Length] = field(default_factory=dict)  # by parameters in 1e9
    aliases: Mapping[str, str] = field(default_factory=dict)  # by path or file name of a source
    prices: Prices = NO_PRICES
    github: JobSettings = JobSettings()
    gitlab: JobSettings = JobSettings()


def find_db(flag: Path | None, cwd: Path | None = None) -> Path:
    """The path of the warehouse: `--db`, else BENCH_DB, `bench.toml`, `./bench.duckdb`.

    Raises BenchError if one of the last two is outside of the repository: its author would choose
    a file to be written, or a server to receive a password.
    """
    directory = cwd or Path.cwd()
    if named := flag or os.environ.get("BENCH_DB"):
        return located(named, directory)
    settings = read_settings(directory)
    db = located(settings.db or DEFAULT_DB, directory)
    require_own(db, settings.file if settings.db else None, directory)
    return db


def require_own(db: Path, file: Path | None, directory: Path) -> None:
    """Raises BenchError for a warehouse outside of the folder of the `bench.toml` that sets it, or,
    if none does, outside of `directory`."""
    path = path_of(db)
    try:
        if path is None:
            raise BenchError(f"{FILE} names a server", where=str(file))
        inside(file.parent if file else directory, str(path))
    except BenchError as error:
        where = path.resolve() if path else db
        error.why = f"{f'db in {FILE}' if file else 'a link'} points to {where}" if path else ""
        error.hint = f"to use it, set --db '{where}' or BENCH_DB"
        raise


def find_templates(flag: Path | None, cwd: Path | None = None) -> Path | None:
    """The folder of the user's templates: `--templates`, else `bench.toml`, else None."""
    directory = cwd or Path.cwd()
    named = flag or read_settings(directory).templates
    return directory / named.expanduser() if named else None


def read_settings(cwd: Path | None = None) -> Settings:
    """The nearest `bench.toml` at or above `cwd`, up to the root of its git checkout."""
    file = find_file(cwd or Path.cwd())
    return read_file(file) if file else Settings()


def read_file(file: Path) -> Settings:
    """Read one file; raises BenchError, with the line, for the first invalid setting."""
    text = _read(file)
    schema = files(__package__ or "bench.project") / "configuration.py"
    found = cached("settings", [schema], lambda: _valid(file, text), text)
    return _made(file, text, found)


def _valid(file: Path, text: str) -> Mapping[str, Any]:
    """The values of all settings. A text is validated once: pydantic is slow to import."""
    from pydantic import ValidationError

    from ..vocabulary.toml import TOMLDecodeError, loads
    from .configuration import Configuration

    try:
        values = loads(text)
    except TOMLDecodeError as error:
        raise BenchError(
            f"{FILE} is not valid TOML",
            why=str(error),
            where=_place(file, error),
            hint='write settings as db = "bench.duckdb"',
        ) from error
    try:
        return Configuration.model_validate(values).model_dump()
    except ValidationError as error:
        # They come in the order of the text, but for those of the model itself.
        first = min(error.errors()[:_MOST_ERRORS], key=lambda error: _line(text, error["loc"]))
        raise _refused(file, text, first) from error


def _made(file: Path, text: str, found: Mapping[str, Any]) -> Settings:
    """The settings; paths are checked each time, since links may have changed."""
    return Settings(
        file=file,
        db=located(found["db"], file.parent) if found["db"] else None,
        templates=_inside(file, found["templates"]) if found["templates"] else None,
        formats=_formats(file, found["formats"]) if found["formats"] else None,
        facts=_inside(file, found["facts"]) if found["facts"] else None,
        sources=tuple(_inside(file, source) for source in found["sources"]),
        pages=tuple(found["pages"]),
        paths=_patterns(file, text, found["paths"]),
        lengths=_lengths(file, text, found["budgets"]),
        aliases=_aliases(file, text, found["aliases"]),
        prices=_prices(found["prices"]) if found["prices"] else NO_PRICES,
        github=_job(found["github"]),
        gitlab=_job(found["gitlab"]),
    )


def _patterns(
    file: Path, text: str, path_patterns: Sequence[Mapping[str, Any]]
) -> tuple[PathPattern, ...]:
    from .path_patterns import checked

    starts = [n for n, line in enumerate(text.splitlines(), 1) if _PATHS.match(line)]
    lines = (
        starts
        if len(starts) == len(path_patterns)
        else [_line(text, ("paths",))] * len(path_patterns)
    )
    return tuple(
        checked(one["pattern"], one["example"], one["gives"], f"{file}:{line}", line)
        for one, line in zip(path_patterns, lines, strict=True)
    )


def _lengths(file: Path, text: str, budgets: Mapping[str, str]) -> dict[float, Length]:
    found = {}
    for label, text in budgets.items():
        size, length = parse_size(label), parse_length(text)
        if size is None or length is None:
            wrong = f"{label!r} is no size of a model" if size is None else f"value {text!r}"
            raise BenchError(
                f"setting 'budgets.{label}' in {FILE} is wrong",
                why=wrong,
                where=f"{file}:{_line(text, ('budgets', label))}",
                hint='"1.3B" = "380B tokens", or "362_000 steps"',
            )
        found[size] = length
    return found


def _aliases(file: Path, text: str, found: Mapping[str, str]) -> Mapping[str, str]:
    names = Counter(found.values())
    for named, alias in found.items():
        if names[alias] > 1:
            raise BenchError(
                f"two aliases in {FILE} are {alias!r}", why="an alias names one source",
                where=f"{file}:{_line(text, ('aliases', named))}", hint="rename one of them",
            )  # fmt: skip
    return found


def aliased(uris: Iterable[str], aliases: Mapping[str, str]) -> dict[str, str]:
    """The aliases of sources, by path or unique file name."""
    files: dict[str, list[str]] = {}
    for uri in uris:
        for named in {uri, uri.rsplit("/", 1)[-1]}:
            files.setdefault(named, []).append(uri)
    return {
        files[named][0]: alias for named, alias in aliases.items() if len(files.get(named, ())) == 1
    }


def _prices(device_prices: Mapping[str, Any]) -> Prices:
    origin, default = f"as set in {FILE}", device_prices["default"]

    def price(amount: float) -> Price:
        return Price(amount, device_prices["currency"], origin)

    devices = {name: price(amount) for name, amount in device_prices["devices"].items()}
    return Prices(price(default) if default else None, devices)


def _job(job: Mapping[str, Any]) -> JobSettings:
    return JobSettings(job["comment"], job["comment_id"], tuple(job["fail_on"]))


def _refused(file: Path, text: str, error: ErrorDetails) -> BenchError:
    from ..vocabulary.validation import plain_reason
    from .configuration import Configuration, DevicePrices, Job, PathPattern

    place = error["loc"]
    key = ".".join(str(part) for part in place if not isinstance(part, int))
    where = f"{file}:{_line(text, place)}"
    sections: dict[str, type[BaseModel]] = {
        "github": Job, "gitlab": Job, "paths": PathPattern, "prices": DevicePrices,
    }  # fmt: skip
    section = sections.get(str(place[0]), Configuration) if len(place) > 1 else Configuration
    known = [field.alias or name for name, field in section.model_fields.items()]
    if error["type"] == "extra_forbidden":
        hint = did_you_mean(str(place[-1]), known)
        return BenchError(f"unknown setting {key!r} in {FILE}", where=where, hint=hint)
    is_path = key in ("db", "templates", "formats")
    return BenchError(
        f"setting {key!r} in {FILE} is {'not a path' if is_path else 'wrong'}",
        why=f"value {error['input']!r}" + ("" if is_path else f": {plain_reason(error['msg'])}"),
        where=where,
        hint=f'{key} = "PATH", relative to {FILE}'
        if is_path
        else "see docs/facts.md"
        if place[0] == "paths"
        else '"PATH" = "NAME": letters, digits, dots and dashes'
        if place[0] == "aliases"
        else 'currency = "USD", default = 2.10'
        if place[0] == "prices"
        else "see docs/pull_requests.md",
    )


def _inside(file: Path, value: str) -> Path:
    try:
        return inside(file.parent, value)
    except BenchError as error:
        error.where = str(file)
        raise


def _formats(file: Path, value: str) -> Path:
    """A folder of formats: what is wrong in one is quoted, so none is a link that leads out."""
    folder = _inside(file, value)
    for each in sorted(folder.glob("*.toml")):
        _inside(file, f"{value}/{each.name}")
    return folder


def _read(file: Path) -> str:
    try:
        return read_text(file, _LARGEST)
    except UnicodeDecodeError as error:
        raise BenchError(f"{FILE} is not UTF-8", why=str(error), where=str(file)) from error
    except OSError as error:
        why = error.strerror or str(error)
        raise BenchError(f"cannot read {FILE}", why=why, where=str(file)) from error


def _line(text: str, place: Sequence[int | str]) -> int:
    """The line of a setting, or of its table if the key is not found there."""
    at = 1
    for key in (part for part in place if isinstance(part, str)):
        pattern = re.compile(rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[=.\]]""")
        lines = enumerate(text.splitlines(), 1)
        at = next((n for n, line in lines if n >= at and pattern.match(line)), at)
    return at


def _place(file: Path, error: TOMLDecodeError) -> str:
    # Python has the line only in the message, and "end of document" for a truncated file.
    match = re.search(r"at line (\d+)", str(error))
    return f"{file}:{match[1]}" if match else f"{file}, at the end"
