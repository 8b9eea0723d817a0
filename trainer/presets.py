"""Sizes of a GPT: named ones, and what was changed by hand."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

# Megatron pads the vocabulary so that every tensor-parallel rank holds a multiple of this.
VOCABULARY_MULTIPLE = 128


@dataclass(frozen=True, slots=True)
class Shape:
    """What makes two models the same model."""

    layers: int
    hidden: int
    heads: int
    seq_len: int
    vocab: int

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise ValueError(f"{field.name} is {getattr(self, field.name)}, at least 1 needed")
        if self.hidden % self.heads:
            raise ValueError(
                f"hidden size {self.hidden} does not divide into {self.heads} heads: "
                f"{self.hidden} % {self.heads} = {self.hidden % self.heads}"
            )

    @property
    def ffn(self) -> int:
        """Width of the MLP."""
        return 4 * self.hidden

    def padded_vocab(self, tp: int) -> int:
        """Rows of the embedding, dummy tokens included: a multiple of 128 x TP."""
        multiple = VOCABULARY_MULTIPLE * tp
        return -(-self.vocab // multiple) * multiple

    def parameters(self) -> int:
        """Parameters of the model without dummy tokens; the output layer is the embedding."""
        h = self.hidden
        return self.layers * (12 * h * h + 13 * h) + (self.vocab + self.seq_len) * h + 2 * h


GPT2_VOCABULARY = 50257

# 124m and 350m are GPT-2's, 1.3b to 13b GPT-3's, 30b is OPT's (whose vocabulary is GPT-2's).
PRESETS = {
    "nano": Shape(layers=2, hidden=64, heads=4, seq_len=32, vocab=256),
    "tiny": Shape(layers=4, hidden=128, heads=4, seq_len=64, vocab=512),
    "10m": Shape(layers=6, hidden=320, heads=8, seq_len=256, vocab=8192),
    "124m": Shape(layers=12, hidden=768, heads=12, seq_len=1024, vocab=GPT2_VOCABULARY),
    "350m": Shape(layers=24, hidden=1024, heads=16, seq_len=1024, vocab=GPT2_VOCABULARY),
    "1.3b": Shape(layers=24, hidden=2048, heads=32, seq_len=2048, vocab=GPT2_VOCABULARY),
    "13b": Shape(layers=40, hidden=5120, heads=40, seq_len=2048, vocab=GPT2_VOCABULARY),
    "30b": Shape(layers=48, hidden=7168, heads=56, seq_len=2048, vocab=GPT2_VOCABULARY),
}


def shaped(preset: str, by_hand: dict[str, int | None]) -> tuple[Shape, str | None]:
    """The shape, and what makes it differ from the preset (`layers 12 -> 2`), if anything does."""
    whole = PRESETS[preset]
    given = {name: value for name, value in by_hand.items() if value is not None}
    shape = replace(whole, **given)
    changes = [
        f"{name} {getattr(whole, name)} -> {value}"
        for name, value in given.items()
        if value != getattr(whole, name)
    ]
    return shape, ", ".join(changes) or None
