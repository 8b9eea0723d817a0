"""Verify a claim: compare source digests, recompute the answer, audit the rows.

Only the question is taken from the claim; only the given paths are read.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..decide.eligible import doubts
from ..explain.run import Lines
from ..explain.target import findings_on
from ..schema.errors import BenchError
from ..schema.warehouse import Warehouse
from ..vocabulary.format import counted, significant
from .answer import ClaimAnswer, Source, answered, digests, sources_of
from .make import tool
from .statement import Result, Row, Statement, Tool
from .verdict import Fault, Outcome, Verdict, outcome

_LESS_IS_BETTER = frozenset(("mem", "device_hours", "days", "energy"))
_NEAR = 200  # lines around its old place in which a changed row is searched
_ALIKE = 0.6  # of two versions of a row


@dataclass(frozen=True, slots=True)
class _Match:
    """The claim's sources matched with the local ones."""

    local: Mapping[str, Source]  # local sources by name
    same: Mapping[str, str] = field(default_factory=dict)  # digest of the claim -> local name
    changed: Mapping[str, str] = field(default_factory=dict)
    missing: Sequence[str] = ()  # digests
    added: Sequence[str] = ()  # local names

    @property
    def is_whole(self) -> bool:
        """Whether the local sources are exactly those of the claim."""
        return not (self.changed or self.missing or self.added)


@dataclass(frozen=True, slots=True)
class _Check:
    """One claim against one warehouse."""

    statement: Statement
    warehouse: Warehouse
    lines: Lines
    match: _Match
    found: ClaimAnswer | None
    why: str  # the reason for no answer

    @property
    def same_answer(self) -> bool:
        """Whether the answer is the claim's; with other sources, from any number of rows."""
        claimed = self.statement.predicate.result
        if self.found is None:
            return False
        runs = claimed.runs if not self.match.is_whole else self.found.result.runs
        return self.found.result.model_copy(update={"runs": runs}) == claimed

    @property
    def same_version(self) -> bool:
        return self.statement.predicate.tool == tool(self.warehouse)


def verify(statement: Statement, warehouse: Warehouse, root: Path) -> Outcome:
    """The verdicts on a claim about the sources of a warehouse.

    The warehouse must have the annotations of the claim (`annotations_of`) and no others; sources
    lie below `root`.
    """
    match = _matched(statement, sources_of(warehouse))
    found, why = None, ""
    try:
        found = answered(warehouse, root, statement.predicate.question)
    except BenchError as error:
        why = ": ".join(filter(None, (error.what, error.why)))
    check = _Check(statement, warehouse, Lines(warehouse, root), match, found, why)
    verdicts = [*_of_sources(check), *_of_rows(check), *_of_formulas(check), *_of_audit(check)]
    if not any(verdict.way in _EXPLAINS for verdict in verdicts):
        verdicts += _of_answer(check)
    return outcome(verdicts, _notes(check))


_EXPLAINS = frozenset(
    (
        Fault.MISSING_SOURCE,
        Fault.CHANGED_ROW,
        Fault.REMOVED_ROW,
        Fault.BETTER_ROW,
        Fault.DOUBTED,
        Fault.FORMULA,
    )
)


def _matched(statement: Statement, local: Mapping[str, Source]) -> _Match:
    """Match sources by digest; the rest by name, else by the last part of the name."""
    by_digest: dict[str, str] = {}
    for uri, source in local.items():
        by_digest.setdefault(source.sha256, uri)
    names = statement.names
    same = {sha256: by_digest[sha256] for sha256 in names if sha256 in by_digest}
    left = [uri for uri, source in local.items() if source.sha256 not in names]
    changed: dict[str, str] = {}
    for sha256, name in names.items():
        if sha256 in same:
            continue
        near = [uri for uri in left if uri == name] or [
            uri for uri in left if uri.rsplit("/", 1)[-1] == name.rsplit("/", 1)[-1]
        ]
        if len(near) == 1:
            changed[sha256] = near[0]
            left.remove(near[0])
    missing = [sha256 for sha256 in names if sha256 not in same and sha256 not in changed]
    return _Match(local, same, changed, missing, left)


def _of_sources(check: _Check) -> Iterator[Verdict]:
    names, match = check.statement.names, check.match
    for sha256 in match.missing:
        yield Verdict(Fault.MISSING_SOURCE, f"The source {names[sha256]} (sha256 {sha256[:12]}) is"
                      " not among the paths.")  # fmt: skip
    for sha256, uri in match.changed.items():
        yield Verdict(Fault.CHANGED_SOURCE, f"The source {uri} has changed since the claim: its"
                      f" sha256 is {match.local[uri].sha256[:12]}, not {sha256[:12]}.")  # fmt: skip
    for one in check.statement.subject:
        uri = match.same.get(one.digest.sha256, "")
        if uri and match.local[uri].lines != one.annotations.lines:
            yield Verdict(Fault.ROWS, f"{uri} has {counted(match.local[uri].lines, 'line')};"
                          f" the claim says {one.annotations.lines}.")  # fmt: skip
    for uri in match.added:
        yield Verdict(Fault.ADDED_SOURCE, f"The source {uri} is not one of the claim.")


def _of_rows(check: _Check) -> Iterator[Verdict]:
    """Verdicts on the claim's rows, and on a better row that it leaves out."""
    whole = True
    for row in check.statement.predicate.rows:
        if fate := _fate(check, row):
            whole = False
            yield fate
    claimed, found = check.statement.predicate.result, check.found
    if not whole or found is None or check.same_answer:
        return
    if sorted(map(_key, found.rows)) == sorted(map(_key, check.statement.predicate.rows)):
        return
    less = check.statement.predicate.question.metric in _LESS_IS_BETTER
    better = found.result.value < claimed.value if less else found.result.value > claimed.value
    if better and check.statement.predicate.question.answer != "value":
        first = found.rows[0]
        uri = next(uri for uri, one in check.match.local.items() if one.sha256 == first.source)
        yield Verdict(
            Fault.BETTER_ROW,
            f"{uri}:{first.line} is better than the claim: {_figure(found.result.value)} against"
            f" {_figure(claimed.value)} {found.result.unit}.",
        )


def _fate(check: _Check, row: Row) -> Verdict | None:
    """Verdict on a row of a changed source; for an unchanged one, whether the claim's quote is
    exact."""
    if row.source in check.match.missing:
        return None
    if (same := check.match.same.get(row.source)) is not None:
        text = check.lines.text(same, row.line)
        if text == row.text:
            return None
        return Verdict(Fault.ROWS, f"{same}:{row.line} reads {text!r}; the claim quotes"
                       f" {row.text!r}.")  # fmt: skip
    uri = check.match.changed[row.source]
    lines = check.lines.all(uri)
    if row.text in lines or check.lines.text(uri, row.line) == row.text:
        return None
    subjects = check.statement.subject
    before = next(
        subject.annotations.lines for subject in subjects if subject.digest.sha256 == row.source
    )
    near = lines[max(row.line - _NEAR, 0) : row.line + _NEAR]
    alike = difflib.get_close_matches(row.text[:_LONG], [one[:_LONG] for one in near], 1, _ALIKE)
    if alike and check.match.local[uri].lines >= before:
        at = 1 + max(row.line - _NEAR, 0) + [one[:_LONG] for one in near].index(alike[0])
        now = check.lines.text(uri, at)
        return Verdict(Fault.CHANGED_ROW, f"{uri}:{at} reads {now!r}; the claim rests on"
                       f" {row.text!r}.")  # fmt: skip
    return Verdict(
        Fault.REMOVED_ROW, f"The row {row.text!r} (line {row.line}) is no longer in {uri}."
    )


_LONG = 500  # characters of a line that are compared


def _of_formulas(check: _Check) -> Iterator[Verdict]:
    ours, theirs = digests(), check.statement.predicate.formulas
    for name, sha256 in sorted(theirs.items()):
        if ours.get(name) != sha256:
            known = "is another one here" if name in ours else "is not known here"
            yield Verdict(Fault.FORMULA, f"The claim rests on {name} (sha256 {sha256[:12]}), which"
                          f" {known}.")  # fmt: skip
    if check.found is not None and check.same_answer and check.match.is_whole:
        for name in sorted(check.found.formulas.keys() - theirs.keys()):
            yield Verdict(Fault.FORMULA, f"The answer rests on {name}, which the claim does not"
                          " name.")  # fmt: skip


def _of_audit(check: _Check) -> Iterator[Verdict]:
    """Audit errors in the rows of the claim."""
    places = {
        (uri, row.line)
        for row in check.statement.predicate.rows
        if (uri := check.match.same.get(row.source)) is not None
    }
    doubted = doubts(check.warehouse, sorted({uri for uri, _ in places}))
    query = "SELECT run_id, uri, line FROM runs ORDER BY uri, line, run_id"
    for run, uri, line in check.warehouse.rows(query) if doubted else ():
        if (uri, line) in places and run in doubted:
            yield Verdict(Fault.DOUBTED, f"The audit doubts {uri}:{line}: {doubted[run]}.")


def _of_answer(check: _Check) -> Iterator[Verdict]:
    """Verdicts on answer, rows and derivation, where no other verdict explains a difference."""
    claimed, found = check.statement.predicate, check.found
    way = Fault.ANSWER if check.same_version else Fault.VERSION
    theirs, local = claimed.tool.version, tool(check.warehouse).version
    by = "" if check.same_version else f" (by bench {theirs}; this is {local})"
    if found is None:
        yield Verdict(way, f"The sources give no answer{by}: {check.why}.")
    elif not check.same_answer:
        recomputed, stated = _result(found.result), _result(claimed.result)
        if recomputed == stated:  # they differ only in digits or ends that are not shown
            recomputed, stated = _in_full(found.result), _in_full(claimed.result)
        yield Verdict(way, f"The sources give {recomputed}; the claim says {stated}{by}.")
    elif check.match.is_whole or not check.match.changed:
        if sorted(map(_key, found.rows)) != sorted(map(_key, claimed.rows)):
            listed = ", ".join(str(row.line) for row in found.rows[:12])
            yield Verdict(
                Fault.ROWS,
                f"The answer comes from other rows than the claim quotes: lines {listed}.",
            )
        elif found.derivation.flat() != claimed.derivation.flat():
            yield Verdict(Fault.DERIVATION, _difference(found, check.statement))


def _difference(found: ClaimAnswer, statement: Statement) -> str:
    """The first number with another derivation."""
    ours, theirs = found.derivation.flat(), statement.predicate.derivation.flat()
    at = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
    if at is None:
        return f"The derivation has {len(ours)} numbers; that of the claim has {len(theirs)}."
    changes = ", ".join(f"{a!r} and not {b!r}" for a, b in zip(ours[at], theirs[at], strict=True)
                     if a != b)  # fmt: skip
    return f"The derivation of {ours[at][0]} differs: {changes}."


def _notes(check: _Check) -> Iterator[str]:
    claimed = check.statement.predicate
    if not check.same_version and check.same_answer:
        yield f"made by {_tool(claimed.tool)}; this is {_tool(tool(check.warehouse))}"
    if claimed.stated:
        who = sorted({one.author for one in claimed.stated if one.author})
        by = f" by {', '.join(who[:5])}" if who else ""
        yield f"rests on {len(claimed.stated)} values that no source states, but the claim{by}"
    if check.found:
        warned = [
            f"{finding.uri}:{finding.line} ({finding.rule}): {finding.message}"
            for finding in findings_on(check.warehouse, check.lines.root, check.found.places)
            if finding.severity == "warning" and not finding.closed
        ]
        yield from (f"the audit warns of {warning}" for warning in dict.fromkeys(warned))


def _tool(one: Tool) -> str:
    return f"bench {one.version} (reading {one.reading}, rules {one.rules})"


def _result(one: object) -> str:
    value, unit, runs = (getattr(one, name) for name in ("value", "unit", "runs"))
    return f"{_figure(value)} {unit} of {counted(runs, 'row')}".replace("  ", " ")


def _in_full(result: Result) -> str:
    """A result with all digits and both ends of its range."""
    ends = "" if result.low is None and result.high is None else f" ({result.low} to {result.high})"
    return f"{result.value!r} {result.unit}{ends}"


def _figure(value: float) -> str:
    return significant(value, 6) or ""


def _key(row: Row) -> tuple[str, int, str]:
    return row.source, row.line, row.text
