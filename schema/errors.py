"""The exception that the command line shows: problem, reason, place, and remedy."""

from __future__ import annotations

from collections.abc import Collection

# Exit codes of the command line.
FINE, FOUND, USAGE, NOTHING_RECOGNISED, LOCKED, NOTHING_TO_COMPARE, INTERRUPTED = (
    0, 1, 2, 3, 4, 5, 130,
)  # fmt: skip

_FEW = 30  # words listed by a hint after its guess


class BenchError(Exception):
    """An error with its reason, its place and a remedy; `exit_code` is that of the command."""

    exit_code = USAGE

    def __init__(self, what: str, *, why: str = "", where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what, self.why, self.where, self.hint = what, why, where, hint

    def __str__(self) -> str:
        parts = [" ".join(self.what.splitlines())]
        parts += [f"  why: {_indented(self.why)}"] if self.why else []
        parts += [f"  where: {_indented(self.where)}"] if self.where else []
        parts += [f"  try: {_indented(self.hint)}"] if self.hint else []
        return "\n".join(parts)


def _indented(text: str) -> str:
    """Indent the lines after the first, so that quoted text stays part of its field."""
    return "\n    ".join(text.splitlines())


class Locked(BenchError):
    """Another process has locked the warehouse."""

    exit_code = LOCKED


class Incompatible(BenchError):
    """The file is no warehouse, or one of a newer version."""

    exit_code = LOCKED


class NothingRecognised(BenchError):
    """None of the inputs is a log or a benchmark table."""

    exit_code = NOTHING_RECOGNISED


def did_you_mean(word: str, known: Collection[str]) -> str:
    """A hint: the field with this alternative name, else the nearest word, else the first words."""
    import difflib  # errors are rare, start-up is not

    from ..vocabulary.fields import named

    by_fold = {name.casefold(): name for name in known}
    other = named("also").get(word.casefold(), "")
    near = [other] if other in by_fold else difflib.get_close_matches(word.casefold(), by_fold, n=1)
    more = len(known) - _FEW
    listed = f"known: {', '.join(list(known)[:_FEW])}"
    listed += f" and {more} more, as docs/warehouse.md lists them" if more > 0 else ""
    if not near:
        return listed
    # After a guess, a hundred columns would only hide it.
    return f"did you mean {by_fold[near[0]]!r}?" + (f" {listed}" if len(known) <= _FEW else "")
