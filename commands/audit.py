"""`bench audit`: check every number against physics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from ..decide.query import Query
from ..project.facts import facts_of
from ..project.settings import find_db
from ..schema.errors import FINE, FOUND, NothingRecognised
from ..schema.location import is_there
from ..terminal import options as o
from ..terminal.messages import info
from ..terminal.source import Source
from ..terminal.tables import Format, choose_format, emit, render
from ..vocabulary.format import counted
from ..vocabulary.output_recording import note_source

if TYPE_CHECKING:
    from ..audit.finding import Finding


_GRADES = ("error", "warning", "note")
_NARROW = 100  # columns: on a narrower terminal cells of a table would be cut


class AuditFormat(StrEnum):
    """The formats of `bench audit`."""

    TABLE = "table"
    MD = "md"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    HTML = "html"
    SARIF = "sarif"
    GITHUB = "github"


class FailSeverity(StrEnum):
    """The lowest severity that makes `bench audit` fail."""

    ERROR = "error"
    WARNING = "warning"
    NEVER = "never"


@o.command(query=("model",), kept=True)
def audit(
    source: Source,
    query: Query,
    fail_on: Annotated[
        FailSeverity, typer.Option("--fail-on", help="Severity of open findings that exits 1.")
    ] = FailSeverity.ERROR,
    if_any: Annotated[
        bool, typer.Option("--if-any", help="Exit 0 if there is nothing to audit.")
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Also check what changed, by the histories read in.")
    ] = False,
    format: Annotated[
        AuditFormat | None,
        typer.Option(
            "--format", help="Format (default: table, or md if piped).", show_default=False
        ),
    ] = None,
    output: o.Output = None,
) -> None:
    """Check printed numbers for contradictions and impossible values."""
    if if_any and not source.paths and not is_there(find_db(source.db)):
        raise typer.Exit(FINE)
    try:
        raise typer.Exit(_audit(source, query.model, fail_on, history, format, output))
    except NothingRecognised:
        if not if_any:
            raise


def _audit(
    source: Source,
    model: str | None,
    fail_on: str,
    history: bool,
    form: str | None,
    output: Path | None,
) -> int:
    """Write the findings; the exit code is that of the audit."""
    from ..audit.closed_findings import closed, unused
    from ..audit.places import placed
    from ..audit.run import examined
    from ..decide.history import require_history
    from ..decide.history import scope as history_scope

    root = source.root
    if not source.paths:
        note_source(committed=False)  # places are looked up in the files
    with source.opened(audited=False) as warehouse:
        if history:
            require_history(warehouse)
        found, scope = examined(warehouse, model=model, request="history" if history else "")
        findings = placed(warehouse, found, root)
        facts = facts_of(warehouse, root)
        findings = closed(warehouse, findings, facts)
        if model is None:  # a fact unused for one model may close findings of another
            findings += unused(warehouse, findings, facts, root, complete=not source.paths)
        lines = [*([history_scope(warehouse)] if history else []), *scope.lines()]
        lines = lines or ["checked: nothing; there is no row or step with a result"]
    emit(_text(findings, lines, form or _default(output)), output, name="audit.md")
    info(_summary(findings))
    return FOUND if any(_fails(finding, fail_on) for finding in findings) else FINE


def _default(output: Path | None) -> str:
    """The default format: that of the file's suffix, a table on a terminal, else markdown."""
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
    if form == "html":
        from ..terminal.output_formats import html

        above = [_summary(findings), *scope]
        rows = output.rows(findings)
        heads = [name.capitalize() for name in output.COLUMNS]
        return html(heads, rows, "Audit findings", above=above, badges=("Severity",))
    width = get_terminal_size().columns
    if form in ("table", "md"):
        findings = sorted(findings, key=lambda one: (bool(one.closed), _GRADES.index(one.severity)))
    if form == "table" and width < _NARROW:
        listed = output.as_lines(findings, width) if findings else ""
    else:
        listed = render(output.COLUMNS, output.rows(findings), Format(form)) if findings else ""
    if form in ("table", "md"):  # other formats have one line per finding
        parts = filter(None, (listed, *_paragraphs(scope, form)))
        return f"{_verdict(findings)}\n\n" + "\n".join(parts) + "\n"
    return listed or render(output.COLUMNS, [], Format(form))


def _paragraphs(scope: Sequence[str], form: str) -> Sequence[str]:
    return [f"- {line}" for line in scope] if form == "md" else scope


def _fails(finding: Finding, fail_on: str) -> bool:
    grave = ("error",) if fail_on == "error" else ("error", "warning")
    return fail_on != "never" and not finding.closed and finding.severity in grave


def _verdict(findings: Sequence[Finding]) -> str:
    """What the findings mean for the answers, in one sentence."""
    wrong = {(one.uri, one.line) for one in findings if one.severity == "error" and not one.closed}
    if not wrong:
        return "No errors among what was checked: no row is excluded from rankings."
    rows = f"{counted(len(wrong), 'row contradicts', 'rows contradict')}"
    return f"{rows} what is printed elsewhere or what is possible; rankings exclude such rows."


def _summary(findings: Sequence[Finding]) -> str:
    if not findings:
        return "no findings"
    count = Counter(finding.severity for finding in findings if not finding.closed)
    parts = [counted(count[name], name) for name in _GRADES]
    closed = sum(bool(finding.closed) for finding in findings)
    return ", ".join(parts + ([f"{closed} closed"] if closed else []))
