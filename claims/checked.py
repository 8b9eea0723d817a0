"""`bench verify`: check a claim file against its sources and print the verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ..project.read import read
from ..project.settings import read_settings
from ..reports.escape import markdown_text
from ..schema.errors import BenchError, NothingRecognised
from ..vocabulary.printable import json_text, terminal
from .badge import sentence
from .make import annotations_of
from .signing import check, signature_of
from .statement import Statement, parse, read_bytes
from .verdict import Fault, Outcome, Verdict, outcome
from .verify import verify


@dataclass(frozen=True, slots=True)
class Checked:
    """The claim as a sentence ('' where the file is no claim) and the verdicts."""

    claim: str
    outcome: Outcome


def checked(
    claim: Path,
    paths: Sequence[Path],
    allowed: Path | None = None,
    signature: Path | None = None,
    unreadable: Callable[[str, str], None] | None = None,
    root: Path | None = None,
) -> Checked:
    """Check a claim and its signature against the sources below `paths`; reads nothing else.

    Source names are relative to `root`, else to the working directory. `unreadable` is called
    with name and reason of each unreadable file; without it the first one raises BenchError, as
    does a missing path.
    """
    data = read_bytes(claim)
    bad, signer = check(data, signature or signature_of(claim), allowed)
    verdicts = [bad] if bad else []
    try:
        statement = parse(data)
    except BenchError as error:
        verdicts.append(Verdict(Fault.INVALID, f"The file is {error.what}: {error.why}."))
        return Checked("", outcome(verdicts))
    found = _against(statement, paths, root or Path.cwd(), unreadable)
    notes = [*([signer] if signer else []), *found.notes]
    return Checked(sentence(statement), outcome([*verdicts, *found.verdicts], notes))


def _against(
    statement: Statement,
    paths: Sequence[Path],
    root: Path,
    unreadable: Callable[[str, str], None] | None,
) -> Outcome:
    try:
        warehouse, _, _ = read(paths, root, read_settings().formats, unreadable=unreadable,
                               given=annotations_of(statement))  # fmt: skip
    except NothingRecognised:
        words = "The paths have no source of the claim: no log or benchmark table."
        return outcome([Verdict(Fault.MISSING_SOURCE, words)])
    with warehouse:
        return verify(statement, warehouse, root)


def as_lines(found: Checked) -> str:
    """The outcome as lines: the claim, then the verdicts, or that it holds."""
    verdicts = [f"FALSE ({verdict.way}): {verdict.sentence}" for verdict in found.outcome.verdicts]
    lines = [found.claim, *(verdicts or ["TRUE: sources, answer and derivation are as claimed."])]
    lines += [f"Note: {note}" for note in found.outcome.notes]
    return "".join(f"{terminal(line)}\n" for line in lines if line)


def as_json(found: Checked) -> str:
    """The outcome as JSON."""
    verdicts = [
        {"way": verdict.way.value, "exit_code": verdict.way.exit_code, "sentence": verdict.sentence}
        for verdict in found.outcome.verdicts
    ]
    made = {"claim": found.claim, "holds": not verdicts, "exit_code": found.outcome.exit_code,
            "verdicts": verdicts, "notes": found.outcome.notes}  # fmt: skip
    return json_text(made, indent=1) + "\n"


def as_markdown(found: Checked, claim: str) -> str:
    """The outcome for a generated region: the sentence, a link to the claim, whether it holds."""
    verdicts = [
        f"- **{verdict.way}**: {markdown_text(verdict.sentence)}"
        for verdict in found.outcome.verdicts
    ]
    holds = "**false** by its sources" if verdicts else "holds by its sources"
    sentence = markdown_text(found.claim or "not a claim")
    first = f"{sentence} ([claim]({quote(claim)}), {holds})."
    return "\n".join([first, *([""] if verdicts else []), *verdicts])
