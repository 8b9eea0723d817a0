"""How the TFLOPs of a table may have been computed, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

_NAMES = {3: "without recompute (factor 3)", 4: "with recompute (factor 4)"}


@dataclass(frozen=True, slots=True)
class Reading:
    """How TFLOPs may have been computed; factor 0 goes by the row's recompute."""

    formula: str
    factor: int | None = None
    divisor: str = "world"
    vocab: int | None = None
    exact: bool = False  # the vocabulary is not padded to a multiple of 128 x TP
    fitted: bool = False  # it is what most rows need, not one that is known

    def __str__(self) -> str:
        name = self.formula if self.factor in (None, 0) else f"{self.formula} x{self.factor}"
        word = "vocabulary fitted to" if self.fitted else "vocabulary"
        vocab = f", {word} {self.vocab}" if self.vocab else ""
        return f"{name}{vocab}, per {'process' if self.divisor == 'world' else self.divisor}"

    @property
    def long(self) -> str:
        """With what its factor means."""
        return f"{self} {_NAMES.get(self.factor or 0, '')}".strip()


@dataclass(frozen=True, slots=True)
class Detected:
    """The reading of a table; `agree` of its `tested` rows fit, and `around` in its document."""

    reading: Reading
    agree: int
    tested: int
    around: int

    @property
    def certain(self) -> bool:
        """Whether a row that does not fit contradicts a clear majority."""
        return 3 * self.agree >= 2 * self.tested and (self.agree >= 3 or self.around >= 4)
