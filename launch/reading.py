"""Parse a plan file or flags into a validated plan; errors have the line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from ..schema.errors import BenchError, did_you_mean
from ..vocabulary.regular_files import read_text
from ..vocabulary.toml import TOMLDecodeError, loads
from ..vocabulary.validation import plain_reason
from .cases import slug
from .launcher import launcher_class, scheduler_class, scheduler_hint
from .plan import NAME, Limits, Matrix, Plan, Settings
from .process_probe import THREADS
from .registry import names
from .trainer import trainer_class

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_AT_LINE = re.compile(r"at line (\d+)")
_THREADS = re.compile(r"[1-9]\d{0,5}(,[1-9]\d{0,5})*")  # of nested regions: 4,2
_TABLE = re.compile(r"\s*(\[\[?+)\s*+((?>[^\]]*[^\]\s]))\s*+\]")
_MOST_ERRORS = 10
_SECTIONS: Mapping[str, type[BaseModel]] = {
    "settings": Settings,
    "matrix": Matrix,
    "limits": Limits,
}
_WORDS = ("env", "values", "job")  # tables with arbitrary keys
_TABLES = frozenset((*_SECTIONS, *_WORDS))


def read_plan(file: Path) -> Plan:
    """Read a plan file; its name is the default of `name`. Raises BenchError with the line."""
    try:
        text = read_text(file)
    except UnicodeDecodeError as error:
        raise BenchError("the plan is not UTF-8", why=str(error), where=str(file)) from error
    except OSError as error:
        why = error.strerror or str(error)
        raise BenchError(
            "cannot read the plan", why=why, where=str(file),
            hint="bench plan -o plan.toml proposes one; docs/launch.md shows one",
        ) from error  # fmt: skip
    try:
        values = loads(text)
    except TOMLDecodeError as error:
        hint = 'write settings as dp = [1, 2]; quote text: "10m"'
        where = f"{file}:{match[1]}" if (match := _AT_LINE.search(str(error))) else str(file)
        raise BenchError(
            "the plan is not valid TOML", why=str(error), where=where, hint=hint
        ) from error
    name = file.stem if re.match(NAME, file.stem) else slug(file.stem)
    return check_plan({"name": name, **values}, str(file), text)


def check_plan(values: Mapping[str, object], where: str, text: str = "") -> Plan:
    """Validate a plan's values; `where` is their source, `text` its content for line numbers."""
    try:
        plan = Plan.model_validate(values)
    except ValidationError as error:
        # The text is searched for the line of each.
        first = min(error.errors()[:_MOST_ERRORS], key=lambda error: _relevance(text, error))
        raise _refused(first, where, text) from error
    for name in names("trainers"):
        _check_needs(plan, name, where, text)
    _check_labels(plan, where, text)
    _check_texts(plan, where, text)
    if not trainer_class(plan.trainer).starts_all_ranks and not _has_settings(plan):
        raise BenchError(
            "the plan has no settings",
            where=where,
            hint='add a [settings] table, e.g. with model = "nano"',
        )
    return plan


def _check_needs(plan: Plan, trainer: str, where: str, text: str) -> None:
    """Raises BenchError for a trainer without its required key, or a key without its trainer."""
    kind = trainer_class(trainer)
    if kind.needs is None:
        return
    given = getattr(plan, kind.needs) is not None
    if (plan.trainer == trainer) != given:
        raise BenchError(
            f"`{kind.needs}` and trainer = {trainer!r} require each other",
            where=_place(where, text, (kind.needs,) if given else ("trainer",)),
            hint=kind.example,
        )


def _has_settings(plan: Plan) -> bool:
    """Whether a plan has any settings of runs."""
    sections = (plan.settings, *plan.matrix)
    return bool(plan.env) or any(section.model_dump(exclude_defaults=True) for section in sections)


def with_shell(plan: Plan, inherited: Mapping[str, str]) -> Plan:
    """The plan with the shell's OMP_NUM_THREADS, unless it sets threads itself.

    This makes it part of a run's id and label. Raises BenchError if it is not a number.
    """
    value = inherited.get(THREADS)
    is_set = any(THREADS in env for env in (plan.env, *(matrix.env for matrix in plan.matrix)))
    is_set = is_set or any(one.threads is not None for one in (plan.settings, *plan.matrix))
    if is_set or not value or not launcher_class(plan.launcher).is_local:
        return plan
    plan = plan.model_copy(update={"env": {**plan.env, THREADS: value}})
    _check_labels(plan, "environment of this shell", "")
    return plan


def _check_labels(plan: Plan, where: str, text: str) -> None:
    """Raises BenchError for settings that would make a run's label wrong."""
    has_job = plan.job or any(matrix.job for matrix in plan.matrix)
    if has_job and launcher_class(plan.launcher).is_local:
        raise BenchError(
            f"`job` does not apply to launcher = {plan.launcher!r}",
            why="it has no scheduler to take the options",
            where=_place(where, text, ("job",) if plan.job else ("matrix",)),
            hint=scheduler_hint(),
        )
    for matrix in plan.matrix or [Matrix()]:
        values = (plan.env | matrix.env).get(THREADS)
        chosen = (plan.settings.threads, matrix.threads)
        if values is not None and any(threads is not None for threads in chosen):
            raise BenchError(
                f"both threads and {THREADS} are set", where=_place(where, text, ("env",)),
                hint="set only one",
            )  # fmt: skip
        for value in values if isinstance(values, list) else [values]:
            if value and not _THREADS.fullmatch(value):
                raise BenchError(
                    f"{THREADS} is not a thread count: {value!r}",
                    where=_place(where, text, ("env",)), hint=f'{THREADS} = "2"',
                )  # fmt: skip


def _check_texts(plan: Plan, where: str, text: str) -> None:
    """Raises BenchError for texts with line ends or NUL, which break scripts and arguments."""
    scheduler = scheduler_class(plan.launcher)
    unquotable = scheduler.unquotable if scheduler else {}
    for place, value in _texts(plan):
        if "job" not in place:
            why = "NUL characters cannot be passed to programs" if "\0" in value else None
        elif not value.isprintable():
            why = "control characters would break the job script"
        else:
            why = next((why for letter, why in unquotable.items() if letter in value), None)
        if why is not None:
            at = _place(where, text, place)
            raise BenchError(f"invalid value in the plan: {value!r}", why=why, where=at)


def _texts(plan: Plan) -> Iterator[tuple[list[int | str], str]]:
    """Every free text of a plan with its location."""
    top_level = {"command": plan.command, "path": plan.path, "arguments": plan.arguments}
    tables: list[tuple[list[int | str], Mapping[str, object]]] = [([], top_level)]
    tables += [([word], getattr(plan, word)) for word in _WORDS]
    for number, matrix in enumerate(plan.matrix):
        tables += [(["matrix", number, word], getattr(matrix, word)) for word in _WORDS]
    for place, table in tables:
        for name, value in table.items():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, str):
                    yield [*place, name], one


def _refused(error: ErrorDetails, where: str, text: str) -> BenchError:
    place = _path(error["loc"])
    words = [str(part) for part in place if isinstance(part, str)]
    at = _place(where, text, place)
    if error["type"] == "extra_forbidden":
        section = _SECTIONS.get(words[0], Plan) if len(words) > 1 else Plan
        hint = did_you_mean(words[-1], list(section.model_fields))
        return BenchError(f"unknown key {'.'.join(words)!r} in the plan", where=at, hint=hint)
    return BenchError(
        f"invalid {'.'.join(words)!r} in the plan",
        why=f"{error['input']!r}: {plain_reason(error['msg'])}",
        where=at,
        hint="see docs/launch.md for all keys",
    )


def _path(place: Sequence[int | str]) -> list[int | str]:
    """The location of an error without the type names that pydantic adds."""
    names = [part for part in place if isinstance(part, str)]
    nested = names[0] == "matrix" and names[1:2] in [[word] for word in _WORDS]
    depth = 1 + (names[0] in _TABLES) + nested
    number = [part for part in place[1:2] if isinstance(part, int) and names[0] == "matrix"]
    return [*names[:1], *number, *names[1:depth]]


def _relevance(text: str, error: ErrorDetails) -> tuple[int, bool]:
    """Sort key of errors: by line; for a list, its errors as a list before those as a scalar."""
    single = isinstance(error["input"], list) and error["type"].endswith("_type")
    return line_of(text, _path(error["loc"])), single


def _place(where: str, text: str, place: Sequence[int | str]) -> str:
    return f"{where}:{line_of(text, place)}" if text else where


def line_of(text: str, place: Sequence[int | str]) -> int:
    """The line of a key, or of its table if the key is not found; counts tables of lists."""
    keys = [part for part in place if isinstance(part, str)]
    number = next((part for part in place[1:2] if isinstance(part, int)), 0)
    at, table, seen = 1, "", -1
    for line_number, line in enumerate(text.splitlines(), 1):
        match = _TABLE.match(line)
        if match:
            table = match[2].strip()
            seen += match[1] == "[[" and keys[:1] == [table]
            if [table] == keys[:1] and (match[1] == "[" or seen == number):
                at = line_number
            continue
        key = re.match(r"""\s*["']?([\w.-]+)["']?\s*=""", line)
        if key is None:
            continue
        path = [*filter(None, table.split(".")), *key[1].split(".")]
        if path == keys[: len(path)] and (not table or seen in (-1, number)):
            at = line_number
    return at
