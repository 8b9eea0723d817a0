"""Reasons why a claim is false, each with its exit code; 0 is a claim that holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Way(StrEnum):
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
        return FIRST + tuple(Way).index(self)


FIRST = 10  # exit codes below are those of every command
MEANINGS = {
    Way.INVALID: "the file is no claim: cut short, of another form, or with parts that do not fit",
    Way.SIGNATURE: "claim and signature do not belong together: one of them was changed",
    Way.UNSIGNED: "signers are asked for, and there is no signature",
    Way.SIGNER: "the signature is sound, by a key that is not among the allowed signers",
    Way.MISSING_SOURCE: "a source of the claim is not among the paths",
    Way.CHANGED_ROW: "a row that the claim rests on reads otherwise now: a changed digit",
    Way.REMOVED_ROW: "a row that the claim rests on is gone",
    Way.BETTER_ROW: "a better row is there, and the claim leaves it out",
    Way.DOUBTED: "the audit doubts a row that the claim rests on",
    Way.FORMULA: "a formula of the claim is not the one of this version",
    Way.VERSION: "this version of bench comes to another answer than that of the claim",
    Way.ANSWER: "the same sources give another answer, or none",
    Way.ROWS: "the answer is right, and comes from other rows than the claim quotes",
    Way.DERIVATION: "the answer is right, and its derivation is another one",
    Way.CHANGED_SOURCE: "a source has changed, in lines that the answer does not rest on",
    Way.ADDED_SOURCE: "a source is among the paths that the claim does not name",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """One reason why a claim is false, as a sentence."""

    way: Way
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
    order = tuple(Way)
    return Outcome(
        tuple(sorted(dict.fromkeys(verdicts), key=lambda one: order.index(one.way))), tuple(notes)
    )
