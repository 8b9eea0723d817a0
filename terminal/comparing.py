"""`bench compare`: the two sides, or the levels of one column, opened, matched, told."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import FINE, FOUND, BenchError
from .answers import Source, fitted, write
from .messages import say
from .settings import find_home, read_settings
from .tables import Format

if TYPE_CHECKING:
    from ..decide.answer import Answer
    from ..decide.asked import Asked
    from ..decide.gate import Threshold
    from ..decide.rows import Rows

DATABASES = (".duckdb", ".db")


@dataclass(frozen=True, slots=True)
class Gate:
    """When a comparison fails: on regressions, beyond thresholds."""

    fail: bool = False
    thresholds: tuple[str, ...] = ()

    def limits(self) -> list[Threshold]:
        """The thresholds; raises BenchError for one that cannot be read."""
        from ..decide.gate import threshold

        return [threshold(text) for text in self.thresholds]


@dataclass(frozen=True, slots=True)
class By:
    """The column whose values are compared, and which of them is the base."""

    column: str | None = None
    base: str | None = None


def compare(
    arguments: Sequence[str],
    source: Source,
    asked: Asked,
    by: By,
    gate: Gate,
    form: Format | None,
    output: Path | None,
) -> int:
    """Compare, write the answer, and say by the exit code whether something got worse."""
    from ..decide.gate import gated

    limits = gate.limits()
    answer = _answer(arguments, source, asked, by)
    told = gated(answer, limits, gate.fail)
    worse = sum(bool(row["worse"]) for row in told.rows)
    write(fitted(told, asked), form, output, "compare.md")
    many = f"{len(told.rows)} {'pair' if len(told.rows) == 1 else 'pairs'}"
    say(f"{many}, {worse} worse, {len(told.left_out)} runs left out")
    return FOUND if gate.fail and worse else FINE


def _answer(arguments: Sequence[str], source: Source, asked: Asked, by: By) -> Answer:
    if by.column is not None:
        return _by_column(arguments, source, asked, by)
    if len(arguments) < 2:
        raise BenchError(
            "a comparison has two sides, or a column", why=f"{len(arguments)} named",
            hint="bench compare OLD NEW, or bench compare --by LD_PRELOAD PATH...",
        )  # fmt: skip
    if by.base is not None:
        raise BenchError(
            "--base is a value of --by", hint="the first side is the base of the other"
        )
    return _two_sides(arguments, source, asked)


def _by_column(arguments: Sequence[str], source: Source, asked: Asked, by: By) -> Answer:
    from ..decide.answers import compared
    from ..decide.choosing import choose

    paths = tuple(map(Path, arguments))
    if missing := [path for path in paths if not path.exists()]:
        raise BenchError(f"no file {str(missing[0])!r}", hint="with --by, the words are paths")
    with replace(source, paths=paths).opened(asked.table) as warehouse:
        return compared(choose(warehouse, asked), by.column or "settings", by.base)


def _two_sides(arguments: Sequence[str], source: Source, asked: Asked) -> Answer:
    from ..decide.answers import two_sides
    from ..decide.asked import is_condition

    words, source = arguments[:2], replace(source, paths=tuple(map(Path, arguments[2:])))
    late = [one for one in arguments[2:] if is_condition(one) and not Path(one).exists()]
    if late:
        raise BenchError(
            f"{late[0]!r} is a condition, and stands among the paths",
            why="the first two words are the sides", hint="bench compare 'mbs = 1' 'mbs = 2' PATH",
        )  # fmt: skip
    with ExitStack() as stack:
        before, after = (_side(stack, word, source, asked) for word in words)
    conditions = all(is_condition(word) and not Path(word).exists() for word in words)
    return two_sides((words[0], words[1]), before, after, conditions)


def _side(stack: ExitStack, word: str, source: Source, asked: Asked) -> Rows:
    """The runs that one word means: a file, folder or warehouse, a condition, a run, a revision."""
    from ..decide.asked import is_condition, may_be_run
    from ..decide.choosing import choose

    if Path(word).exists():
        path = Path(word)
        is_database = path.suffix in DATABASES
        given = replace(source, paths=() if is_database else (path,))
        given = replace(given, db=path) if is_database else given
        with given.opened(asked.table) as warehouse:
            return choose(warehouse, asked).sorted_out("pace")
    if is_condition(word):
        with source.opened(asked.table) as warehouse:
            return choose(warehouse, asked.also(word)).sorted_out("pace")
    if may_be_run(word) and (rows := _one_run(word, source, asked)) is not None:
        return rows
    return _revision(stack, word, source, asked)


def _one_run(word: str, source: Source, asked: Asked) -> Rows | None:
    """The run of this id or place; None for what may be a git revision instead, as 1a2b3c4 may."""
    from ..decide.choosing import choose
    from ..reports.show import find_run

    with source.opened(asked.table) as warehouse:
        try:
            run = find_run(warehouse, word)
        except BenchError:
            if ":" in word:
                raise
            return None
        chosen = choose(warehouse, asked)
    rows = [row for row in chosen.rows if row["run"] == run]
    return replace(chosen, rows=rows).sorted_out("pace")


def _revision(stack: ExitStack, word: str, source: Source, asked: Asked) -> Rows:
    """What git has of the paths, or of the sources of bench.toml, at a revision."""
    from ..ci.diffing import checked_out
    from ..ci.sources import read
    from ..decide.choosing import choose
    from ..decide.gate import nothing

    named = source.paths or read_settings().sources
    if not named:
        raise BenchError(
            f"{word!r} is no file, condition or run, and nothing says what to read of it in git",
            hint="bench compare main HEAD logs/, or name the sources in bench.toml",
        )  # fmt: skip
    if source.told:
        raise BenchError("--set tells nothing of a git revision", hint="facts.toml can, in each")
    home = find_home(Path.cwd()).resolve()
    root, top, paths = stack.enter_context(checked_out(word, named))
    if not paths:
        raise nothing(f"git has none of the paths at {word}")
    with read(paths, root / home.relative_to(top), read_settings().formats) as warehouse:
        return choose(warehouse, asked).sorted_out("pace")


__all__ = ["By", "Gate", "compare"]
