"""Reasons why a claim is false, each with its exit code; 0 is a claim that holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """A reason why a claim is false, by severity: the first of several gives the exit code."""

    INVALID = "invalid"
    SIGNATURE = "signature"
    UNSIGNED = "unsigned"
    SIGNER = "signer"
    MISSING_SOURCE = "missing-source"
    CHANGED_ROW = "changed-row"
    REMOVED_ROW = "removed-row"
    BETTER_ROW = "better-row"
    DOUBTED = "doubted"
    FORMULA = "formula"
    VERSION = "version"
    ANSWER = "answer"
    ROWS = "rows"
    DERIVATION = "derivation"
    CHANGED_SOURCE = "changed-source"
    ADDED_SOURCE = "added-source"

    @property
    def exit_code(self) -> int:
        return FIRST + tuple(Fault).index(self)


FIRST = 10  # exit codes below are those of every command
MEANINGS = {
    Fault.INVALID: "not a valid claim: truncated, another format, or inconsistent parts",
    Fault.SIGNATURE: "the signature does not match the claim: one of them was changed",
    Fault.UNSIGNED: "a signature is required, and there is none",
    Fault.SIGNER: "the signature is valid, but its key is not among the allowed signers",
    Fault.MISSING_SOURCE: "a source of the claim is not among the paths",
    Fault.CHANGED_ROW: "a row of the claim has changed, by a digit for example",
    Fault.REMOVED_ROW: "a row of the claim was removed",
    Fault.BETTER_ROW: "the sources have a better row that the claim leaves out",
    Fault.DOUBTED: "the audit reports an error in a row of the claim",
    Fault.FORMULA: "a formula of the claim differs in this version",
    Fault.VERSION: "this version of bench computes another answer than the claim's",
    Fault.ANSWER: "the same sources give another answer, or none",
    Fault.ROWS: "the answer is right, but comes from other rows than the claim quotes",
    Fault.DERIVATION: "the answer is right, but its derivation differs",
    Fault.CHANGED_SOURCE: "a source has changed, in lines without effect on the answer",
    Fault.ADDED_SOURCE: "the paths have a source that is not in the claim",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """One reason why a claim is false, as a sentence."""

    way: Fault
    sentence: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """All verdicts, most severe first, and notes on a claim that holds."""

    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return self.verdicts[0].way.exit_code if self.verdicts else 0


def outcome(verdicts: Iterable[Verdict], notes: Iterable[str] = ()) -> Outcome:
    """The outcome of verdicts: sorted by severity, without duplicates."""
    order = tuple(Fault)
    return Outcome(
        tuple(sorted(dict.fromkeys(verdicts), key=lambda verdict: order.index(verdict.way))),
        tuple(notes),
    )
