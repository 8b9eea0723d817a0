"""`bench compare`: the two sides, or the levels of one column, opened, matched, told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import FINE, FOUND, NOTHING_TO_COMPARE, BenchError
from .deciding import Asked, Chosen, choose, opened, write
from .messages import say
from .settings import find_home, read_settings
from .tables import Format

if TYPE_CHECKING:
    from ..decide.answer import Answer
    from ..decide.compare import Threshold
    from ..decide.jobs import Spread
    from ..decide.matching import Factor
    from ..decide.rows import Row, Rows

_CONDITION = re.compile(r"[=<>]|\s(?:in|is|like|ilike|between)\s", re.I)
_RUN = re.compile(r".+:\d+|[0-9a-f]{6,}")
DATABASES = (".duckdb", ".db")


@dataclass(frozen=True, slots=True)
class Gate:
    """When a comparison fails: on regressions, beyond a threshold."""

    fail: bool = False
    threshold: str | None = None

    def parsed(self) -> Threshold | None:
        """The threshold; raises BenchError when it cannot be read."""
        from ..decide.compare import threshold

        return threshold(self.threshold) if self.threshold else None


def compare(
    arguments: Sequence[str],
    asked: Asked,
    by: str | None,
    base: str | None,
    gate: Gate,
    form: Format | None,
    output: Path | None,
) -> int:
    """Compare, write the answer, and say by the exit code whether something got worse."""
    from ..decide.compare import regressions

    limit = gate.parsed()
    if by is None and len(arguments) < 2:
        raise BenchError(
            "a comparison has two sides, or a column", why=f"{len(arguments)} named",
            hint="bench compare OLD NEW, or bench compare --by LD_PRELOAD PATH...",
        )  # fmt: skip
    answer = _by_column(arguments, asked, by, base) if by else _two_sides(arguments, asked)
    write(asked.fitted(answer), form, output, "compare.md")
    worse = regressions(answer, limit)
    say(f"{len(answer.rows)} pairs, {len(worse)} worse, {len(answer.left_out)} runs left out")
    return FOUND if gate.fail and worse else FINE


def _by_column(arguments: Sequence[str], asked: Asked, by: str, base: str | None) -> Answer:
    paths = tuple(map(Path, arguments))
    if missing := [path for path in paths if not path.exists()]:
        raise BenchError(f"no file {str(missing[0])!r}", hint="with --by, the words are paths")
    with opened(replace(asked, paths=paths)) as warehouse:
        return compared(choose(warehouse, asked), by, base)


def compared(chosen: Chosen, by: str, base: str | None) -> Answer:
    """The runs chosen, by the values of one column; raises BenchError where none compare."""
    from ..decide.compare import compare as tell
    from ..decide.jobs import spread_of
    from ..decide.matching import factor, matched, nearest_words

    rows = chosen.sorted_out("pace")
    found = factor(by, [*rows.kept, *rows.left_out])
    _require_levels(rows, found)
    pairs, alone = matched(rows.kept, found, base)
    if not pairs:
        apart = nearest_words(rows.kept, rows.kept)
        raise _nothing(f"no two runs differ in {found.name} alone; {apart}")
    unmatched = [{**row, "left_out": f"no partner that differs in {found.name}"} for row in alone]
    left = (*rows.left_out, *unmatched)
    spreads = chosen.spreads
    return tell(
        chosen.names, found.name, pairs, left, lambda row: spread_of(row, spreads), found.parts
    )


def _require_levels(rows: Rows, by: Factor) -> None:
    """Raises BenchError where the runs of all other values are left out, and says why."""
    from ..decide.matching import level

    known = {level(row, by) for row in rows.kept}
    others = [row for row in rows.left_out if level(row, by) not in known and row["pace"]]
    if len(known) < 2 and others:
        first = others[0]
        raise _nothing(
            f"{len(others)} runs with another {by.name} are left out, such as"
            f" {first['where']}: {first['left_out']}"
        )


def _two_sides(arguments: Sequence[str], asked: Asked) -> Answer:
    from ..decide.compare import compare as tell
    from ..decide.jobs import pooled
    from ..decide.matching import nearest_words, sides
    from ..reports.short import Names

    words, paths = arguments[:2], tuple(map(Path, arguments[2:]))
    with ExitStack() as stack:
        before, after = (_side(stack, word, replace(asked, paths=paths)) for word in words)
    names = Names({row["uri"] for row in (*before.kept, *after.kept)})
    known = pooled([before.kept, after.kept], "both sides")
    declared = _declared(words, [*before.kept, *after.kept])
    pairs, parts = sides(before.kept, after.kept, (words[0], words[1]), declared)
    if not pairs:
        apart = nearest_words(before.kept, after.kept)
        raise _nothing(f"no configuration is on both sides; {apart}")
    used = {id(row) for pair in pairs for row in (*pair.before, *pair.after)}
    alone = [
        {**row, "left_out": f"only in {word}"}
        for word, side in zip(words, (before, after), strict=True)
        for row in side.kept
        if id(row) not in used
    ]
    left = (*before.left_out, *after.left_out, *alone)

    def spread(row: Row) -> Spread | None:
        return known

    answer = tell(names, "", pairs, left, spread)
    if not parts:
        return answer
    told = ", ".join(sorted(part.removeprefix("env ") for part in parts))
    return replace(answer, said=(f"The sides differ by {told}.", *answer.said))


def _declared(words: Sequence[str], rows: Sequence[Row]) -> frozenset[str]:
    """What two conditions name is what they compare."""
    from ..decide.matching import factor
    from ..decide.rows import CONFIGURATION

    if not rows or not all(_CONDITION.search(word) and not Path(word).exists() for word in words):
        return frozenset()
    named = {name for word in words for name in re.findall(r"[a-z_]+", word.casefold())}
    known = named & {*CONFIGURATION, "device", "settings", "date"}
    documents = {"document", "system"} if "uri" in named else set()
    return frozenset(part for name in known for part in factor(name, rows).parts) | documents


def _side(stack: ExitStack, word: str, asked: Asked) -> Rows:
    """The runs that one word means: a file, folder or warehouse, a condition, a run, a revision."""
    if Path(word).exists():
        path = Path(word)
        given = replace(asked, paths=() if path.suffix in DATABASES else (path,))
        given = replace(given, db=path) if path.suffix in DATABASES else given
        with opened(given) as warehouse:
            return choose(warehouse, given).sorted_out("pace")
    if _CONDITION.search(word):
        both = f"({asked.where}) and ({word})" if asked.where else word
        with opened(asked) as warehouse:
            return choose(warehouse, replace(asked, where=both)).sorted_out("pace")
    if _RUN.fullmatch(word):
        return _one_run(word, asked)
    return _revision(stack, word, asked)


def _one_run(word: str, asked: Asked) -> Rows:
    from ..reports.show import find_run

    with opened(asked) as warehouse:
        run = find_run(warehouse, word)
        chosen = choose(warehouse, asked)
    rows = [row for row in chosen.rows if row["run"] == run]
    return replace(chosen, rows=rows).sorted_out("pace")


def _revision(stack: ExitStack, word: str, asked: Asked) -> Rows:
    """What git has of the paths, or of the sources of bench.toml, at a revision."""
    from ..ci.diffing import checked_out
    from ..ci.sources import read

    named = asked.paths or read_settings().sources
    if not named:
        raise BenchError(
            f"{word!r} is no file, condition or run, and nothing says what to read of it in git",
            hint="bench compare main HEAD logs/, or name the sources in bench.toml",
        )  # fmt: skip
    home = find_home(Path.cwd()).resolve()
    root, top, paths = stack.enter_context(checked_out(word, named))
    if not paths:
        raise _nothing(f"git has none of the paths at {word}")
    with read(paths, root / home.relative_to(top), read_settings().formats) as warehouse:
        return choose(warehouse, asked).sorted_out("pace")


def _nothing(what: str) -> BenchError:
    error = BenchError("nothing to compare", why=what, hint="bench runs lists configurations")
    error.exit_code = NOTHING_TO_COMPARE
    return error


__all__ = ["Gate", "compare", "compared"]
