"""`bench explain`: open, ask, lay out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .facts import facts_of
from .messages import say
from .opening import open_for_reading
from .settings import find_db
from .tables import emit

if TYPE_CHECKING:
    from ..explain.decision import Question
    from ..schema.warehouse import Warehouse


def explain(
    db: Path | None,
    paths: Sequence[Path],
    what: str,
    question: Question,
    every: bool,
    form: str,
    output: Path | None,
    lock_timeout: float,
) -> None:
    """Write the derivation trees of what is asked."""
    from importlib.metadata import version

    from ..explain.ask import explain as answer
    from ..explain.output import as_json, as_tree
    from ..reports.short import Names

    root = Path.cwd() if paths else find_db(db).absolute().parent
    with _open(db, paths, what, lock_timeout) as warehouse:
        found = answer(
            warehouse, root, what, question=question, every=every, facts=facts_of(warehouse, root)
        )
        names = Names(uri for (uri,) in warehouse.rows("SELECT uri FROM sources"))
    text = (
        as_json(found, version("bench-warehouse"))
        if form == "json"
        else as_tree(found, names.short)
    )
    emit(text, output, name="explain.txt")
    number = len(found.matches) + found.more
    say(f"{number} {'answer' if number == 1 else 'answers'}")


def _open(db: Path | None, paths: Sequence[Path], what: str, lock_timeout: float) -> Warehouse:
    """What there is to read; a formula stands for itself, with nothing read in."""
    from ..explain.formula import formula_named, no_formula
    from ..schema.warehouse import in_memory

    if db is None and not paths and not find_db(db).exists():
        if formula_named(what):
            return in_memory()
        if problem := no_formula(what):
            raise problem
    return open_for_reading(db, paths, lock_timeout, audited=False)
