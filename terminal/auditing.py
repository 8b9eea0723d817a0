"""`bench audit`: open, audit, lay out, and the exit code."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from ..schema.errors import FINE, FOUND, NothingRecognised
from .facts import facts_of
from .messages import say
from .opening import open_for_reading
from .settings import find_db
from .tables import Format, choose_format, emit, render

if TYPE_CHECKING:
    from ..audit.finding import Finding

_NARROW = 100  # characters: in less a table shows the beginnings of its cells only


def audit(
    db: Path | None,
    paths: Sequence[Path],
    model: str | None,
    fail_on: str,
    form: str | None,
    output: Path | None,
    lock_timeout: float,
    *,
    if_any: bool = False,
) -> int:
    """Write the findings; the exit code says whether one of the grade asked for stands.

    `if_any`: paths without a table or log, or no warehouse at all, are no failure.
    """
    if if_any and not paths and not find_db(db).exists():
        return FINE
    try:
        return _audit(db, paths, model, fail_on, form, output, lock_timeout)
    except NothingRecognised:
        if not if_any:
            raise
        return FINE


def _audit(
    db: Path | None,
    paths: Sequence[Path],
    model: str | None,
    fail_on: str,
    form: str | None,
    output: Path | None,
    lock_timeout: float,
) -> int:
    from ..audit.closing import closed
    from ..audit.idle import idle
    from ..audit.places import placed
    from ..audit.run import examined

    gc.set_threshold(100_000, 50, 50)  # rows stay until the end: looking for rubbish takes a fifth
    root = Path.cwd() if paths else find_db(db).absolute().parent
    with open_for_reading(db, paths, lock_timeout, audited=False) as warehouse:
        found, scope = examined(warehouse, model=model)
        findings = placed(warehouse, found, root)
        facts = facts_of(warehouse, root)
        findings = closed(warehouse, findings, facts)
        if model is None:  # the findings of one model do not tell what closes those of others
            findings += idle(warehouse, findings, facts, root, whole=not paths)
    emit(_text(findings, scope.lines(), form or _default(output)), output, name="audit.md")
    say(_summary(findings))
    return FOUND if any(_fails(one, fail_on) for one in findings) else FINE


def _default(output: Path | None) -> str:
    """By the output file's suffix, else a table for a person, markdown for whatever else."""
    suffix = output.suffix.lstrip(".").lower() if output else ""
    return suffix if suffix in ("sarif", "github") else choose_format(None, output).value


def _text(findings: Sequence[Finding], scope: Sequence[str], form: str) -> str:
    from ..audit import output

    if form == "json":
        return output.as_json(findings)
    if form == "github":
        return output.as_github(findings)
    if form == "sarif":
        from importlib.metadata import version

        return output.as_sarif(findings, version("bench-warehouse"), scope)
    width = get_terminal_size().columns
    if form == "table" and width < _NARROW:
        listed = output.as_lines(findings, width) if findings else ""
    else:
        listed = render(output.COLUMNS, output.rows(findings), Format(form)) if findings else ""
    if form in ("table", "md"):  # of the others each line is a finding
        return "\n".join(filter(None, (listed, *_paragraphs(scope, form)))) + "\n"
    return listed or render(output.COLUMNS, [], Format(form))


def _paragraphs(scope: Sequence[str], form: str) -> Sequence[str]:
    return [f"- {line}" for line in scope] if form == "md" else scope


def _fails(finding: Finding, fail_on: str) -> bool:
    grave = ("error",) if fail_on == "error" else ("error", "warning")
    return fail_on != "never" and not finding.closed and finding.severity in grave


def _summary(findings: Sequence[Finding]) -> str:
    if not findings:
        return "nothing found"
    count = Counter(one.severity for one in findings if not one.closed)
    parts = [
        f"{count[name]} {name}{'' if count[name] == 1 else 's'}"
        for name in ("error", "warning", "note")
    ]
    closed = sum(bool(one.closed) for one in findings)
    return ", ".join(parts + ([f"{closed} closed"] if closed else []))
