"""`bench compare`: the effect of a change."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..decide.query import Query
from ..project.repository import find_home
from ..project.settings import read_settings
from ..schema.errors import FINE, FOUND, BenchError
from ..terminal import options as o
from ..terminal.answers import write
from ..terminal.computed_reports import drawn
from ..terminal.messages import info, warn_of
from ..terminal.source import Source
from ..vocabulary.format import counted

if TYPE_CHECKING:
    from ..decide.eligible import Rows
    from ..decide.rows import Decision
    from ..project.short_names import ShortNames

DATABASES = (".duckdb", ".db")


class FailOn(StrEnum):
    """The conditions under which `bench compare` fails."""

    REGRESSION = "regression"
    NEVER = "never"


@o.command(source=("overrides", "db"), query=(*o.SELECTION, "columns", "group"), kept=True)
def compare(
    source: Source,
    query: Query,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="A B | PATH",
            help="Two sides (files, conditions, runs, git revisions); with --by: paths.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Compare the values of this column; without one, list them.",
        ),
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="VALUE", help="Value to compare against.")
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit 1 on regressions.")
    ] = FailOn.NEVER,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold", metavar="METRIC:P%", help="Smallest change that counts: step_time:3%."
        ),
    ] = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """Compare matched configurations: effect sizes and significance."""
    from ..decide import gate
    from ..reports.computed import presented

    query = replace(query, by=by, base=base)
    thresholds = [gate.threshold(text) for text in threshold or ()]
    fails = fail_on is FailOn.REGRESSION
    made, names = _decision(arguments or [], source, query)
    made = gate.gated(made, thresholds, fails)
    worse = sum(bool(row["worse"]) for row in made.rows)
    answer = presented(made, names)
    write(answer, query, format, output, "compare.md", lambda: drawn(names, answer))
    left_out = counted(len(made.left_out), "run")
    info(f"{counted(len(made.rows), 'pair')}, {worse} worse, {left_out} excluded")
    raise typer.Exit(FOUND if fails and worse else FINE)


def _decision(
    arguments: Sequence[str], source: Source, query: Query
) -> tuple[Decision, ShortNames]:
    if query.by is not None:
        return _by_column(arguments, source, query)
    if len(arguments) < 2:
        raise BenchError(
            "compare needs two sides, or --by COLUMN", why=f"{len(arguments)} given",
            hint="bench compare OLD NEW, or bench compare --by tp PATH...; --by alone lists them",
        )  # fmt: skip
    if query.base is not None:
        raise BenchError("--base requires --by", hint="without --by, the first side is the base")
    from ..project.short_names import ShortNames

    decision = _two_sides(arguments, source, query)
    return decision, ShortNames(decision.facts["sources"])


def _by_column(
    arguments: Sequence[str], source: Source, query: Query
) -> tuple[Decision, ShortNames]:
    from ..decide.answers import compared
    from ..decide.eligible import candidates
    from ..reports.computed import names_of

    paths = tuple(map(Path, arguments))
    if missing := [path for path in paths if not path.exists()]:
        raise BenchError(f"no such file: {missing[0]}", hint="with --by, all arguments are paths")
    with replace(source, paths=paths).opened(query.table) as warehouse:
        made = compared(candidates(warehouse, query), query.by or "", query.base)
        return made, names_of(warehouse)


def _two_sides(arguments: Sequence[str], source: Source, query: Query) -> Decision:
    from ..decide.answers import two_sides
    from ..decide.query import is_condition

    words, source = arguments[:2], replace(source, paths=tuple(map(Path, arguments[2:])))
    late = [
        argument
        for argument in arguments[2:]
        if is_condition(argument) and not Path(argument).exists()
    ]
    if late:
        raise BenchError(
            f"condition {late[0]!r} given among the paths",
            why="only the first two arguments are sides",
            hint="bench compare 'mbs = 1' 'mbs = 2' PATH",
        )  # fmt: skip
    with ExitStack() as stack:
        before, after = (_side(stack, word, source, query) for word in words)
    conditions = all(is_condition(word) and not Path(word).exists() for word in words)
    return two_sides(_side_names(words), before, after, conditions)


def _side_names(words: Sequence[str]) -> tuple[str, str]:
    """Names of the sides: for files and folders their base names, if these differ."""
    before, after = (Path(word).name if Path(word).exists() else word for word in words)
    return (before, after) if before and after and before != after else (words[0], words[1])


def _side(stack: ExitStack, word: str, source: Source, query: Query) -> Rows:
    """The runs of one side: a file, folder or warehouse, a condition, a run, a revision."""
    from ..decide.eligible import candidates
    from ..decide.query import is_condition, may_be_run

    if Path(word).exists():
        path = Path(word)
        is_database = path.suffix in DATABASES
        given = replace(source, paths=() if is_database else (path,))
        given = replace(given, db=path) if is_database else given
        with given.opened(query.table) as warehouse:
            return candidates(warehouse, query).eligible("pace")
    if is_condition(word):
        with source.opened(query.table) as warehouse:
            return candidates(warehouse, query.also(word)).eligible("pace")
    if may_be_run(word) and (rows := _one_run(word, source, query)) is not None:
        return rows
    return _revision(stack, word, source, query)


def _one_run(word: str, source: Source, query: Query) -> Rows | None:
    """The run of this id or place; None for a possible git revision, such as 1a2b3c4."""
    from ..decide.eligible import candidates
    from ..decide.lookup import find_run

    with source.opened(query.table) as warehouse:
        try:
            run = find_run(warehouse, word)
        except BenchError:
            if ":" in word:
                raise
            return None
        chosen = candidates(warehouse, query)
    rows = [row for row in chosen.rows if row["run"] == run]
    return replace(chosen, rows=rows).eligible("pace")


def _revision(stack: ExitStack, word: str, source: Source, query: Query) -> Rows:
    """The runs of the paths, or of the sources of bench.toml, at a git revision."""
    from ..decide.eligible import candidates
    from ..decide.gate import nothing
    from ..project.checkout import checked_out
    from ..project.read import read

    named = source.paths or read_settings().sources
    if not named:
        raise BenchError(
            f"{word!r} is not a file, condition or run; as a git revision it needs paths",
            hint="bench compare main HEAD logs/, or set sources in bench.toml",
        )  # fmt: skip
    if source.overrides:
        raise BenchError("--set does not apply to git revisions", hint="commit a facts.toml")
    home = find_home(Path.cwd()).resolve()
    try:
        root, top, paths = stack.enter_context(checked_out(word, named))
    except BenchError as error:
        if "not a git repository" not in error.why:
            raise
        raise BenchError(
            f"{word!r} is not a file, condition or run",
            why="nor a git revision, as this folder is in no git repository",
            hint="bench compare OLD.md NEW.md; or 'tp = 4' 'tp = 8', and paths",
        ) from None
    if not paths:
        raise nothing(f"none of the paths exist in git at {word}")
    formats = read_settings().formats
    warehouse, _, checked = read(paths, root / home.relative_to(top), formats)
    warn_of(checked.contradictions)
    with warehouse:
        return candidates(warehouse, query).eligible("pace")
