"""Shapes of GPT-2, Llama and mixtures of experts: presets, and changes of them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

# Megatron pads the vocabulary to a multiple of this per tensor-parallel rank.
VOCABULARY_MULTIPLE = 128


@dataclass(frozen=True, slots=True)
class Shape:
    """The architecture of a model.

    With a `rotary_base` it is a Llama: rotary positions (RoPE), RMSNorm, gated MLPs (SwiGLU), no
    biases, and an output layer separate from the embedding.
    """

    layers: int
    hidden: int
    heads: int
    seq_len: int
    vocab: int
    kv_heads: int | None = None  # of keys and values (GQA); None: all heads
    ffn_hidden: int | None = None  # None: 4 x hidden
    rotary_base: int | None = None
    experts: int | None = None  # MLPs per layer, of which a token uses the `top_k` best
    top_k: int | None = None  # None: 2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value < 1:
                raise ValueError(f"{field.name} is {value}, at least 1 needed")
        if self.hidden % self.heads:
            raise ValueError(
                f"hidden size {self.hidden} does not divide into {self.heads} heads: "
                f"{self.hidden} % {self.heads} = {self.hidden % self.heads}"
            )
        if self.heads % self.kv:
            raise ValueError(
                f"{self.heads} heads do not divide among {self.kv} of keys and values: "
                f"{self.heads} % {self.kv} = {self.heads % self.kv}"
            )
        if not self.is_llama and (self.kv_heads or self.ffn_hidden):
            raise ValueError(
                "a GPT-2 has a key for each head and an MLP of 4 x hidden: heads of keys and "
                "values, and the MLP, are sizes of a Llama"
            )
        if self.experts and not self.is_llama:
            raise ValueError(f"{self.experts} experts in a GPT-2: only a Llama has experts")
        if self.experts and self.chosen > self.experts:
            raise ValueError(f"top_k {self.chosen} exceeds experts {self.experts}")
        if self.top_k and not self.experts:
            raise ValueError(f"top_k {self.top_k} has no effect without experts")
        if self.is_llama and self.head % 2:
            raise ValueError(f"a head of {self.head} does not rotate in pairs: an odd number")

    @property
    def is_llama(self) -> bool:
        """Whether the architecture is Llama, else GPT-2."""
        return self.rotary_base is not None

    @property
    def head(self) -> int:
        """Width of a head."""
        return self.hidden // self.heads

    @property
    def kv(self) -> int:
        """Heads of keys and values."""
        return self.kv_heads or self.heads

    @property
    def ffn(self) -> int:
        """Width of the MLP."""
        return self.ffn_hidden or 4 * self.hidden

    @property
    def mixture(self) -> int:
        """MLPs per layer."""
        return self.experts or 1

    @property
    def chosen(self) -> int:
        """Active MLPs per token."""
        return (self.top_k or 2) if self.experts else 1

    def padded_vocab(self, tp: int) -> int:
        """Rows of the embedding, including dummy tokens: a multiple of 128 x TP."""
        multiple = VOCABULARY_MULTIPLE * tp
        return -(-self.vocab // multiple) * multiple

    def parameters(self) -> int:
        """Parameters without dummy tokens; GPT-2's output layer is the embedding."""
        h = self.hidden
        if not self.is_llama:
            return self.layers * (12 * h * h + 13 * h) + (self.vocab + self.seq_len) * h + 2 * h
        router = h * self.experts if self.experts else 0
        mlp = 3 * h * self.ffn * self.mixture + router
        layer = 2 * h * h + 2 * self.kv * self.head * h + mlp + 2 * h
        return self.layers * layer + 2 * self.vocab * h + h

    def active(self) -> int:
        """Active parameters per token."""
        return self.parameters() - 3 * self.layers * self.hidden * self.ffn * (
            self.mixture - self.chosen
        )


GPT2_VOCABULARY = 50257

# Fields of a preset that flags may change.
SIZES = (
    "layers", "hidden", "heads", "seq_len", "vocab", "kv_heads", "ffn_hidden", "experts", "top_k",
)  # fmt: skip


def _llama(
    layers: int, hidden: int, heads: int, kv: int, ffn: int, seq_len: int, vocab: int, base: int
) -> Shape:
    return Shape(layers, hidden, heads, seq_len, vocab, kv, ffn, base)


# 124m and 350m are GPT-2's, 1.3b to 13b GPT-3's, 30b is OPT's (whose vocabulary is GPT-2's).
# llama-1.1b is TinyLlama's, 7b Llama 2's, 8b and 70b Llama 3's (2407.21783, table 3).
# mixtral-8x7b is Mixtral's (2401.04088).
PRESETS = {
    "nano": Shape(layers=2, hidden=64, heads=4, seq_len=32, vocab=256),
    "tiny": Shape(layers=4, hidden=128, heads=4, seq_len=64, vocab=512),
    "10m": Shape(layers=6, hidden=320, heads=8, seq_len=256, vocab=8192),
    "124m": Shape(layers=12, hidden=768, heads=12, seq_len=1024, vocab=GPT2_VOCABULARY),
    "350m": Shape(layers=24, hidden=1024, heads=16, seq_len=1024, vocab=GPT2_VOCABULARY),
    "1.3b": Shape(layers=24, hidden=2048, heads=32, seq_len=2048, vocab=GPT2_VOCABULARY),
    "13b": Shape(layers=40, hidden=5120, heads=40, seq_len=2048, vocab=GPT2_VOCABULARY),
    "30b": Shape(layers=48, hidden=7168, heads=56, seq_len=2048, vocab=GPT2_VOCABULARY),
    "llama-nano": _llama(2, 64, 4, 2, 160, 32, 256, 10_000),
    "llama-1.1b": _llama(22, 2048, 32, 4, 5632, 2048, 32_000, 10_000),
    "llama-7b": _llama(32, 4096, 32, 32, 11_008, 4096, 32_000, 10_000),
    "llama-8b": _llama(32, 4096, 32, 8, 14_336, 8192, 128_256, 500_000),
    "llama-70b": _llama(80, 8192, 64, 8, 28_672, 8192, 128_256, 500_000),
    "moe-nano": replace(_llama(2, 64, 4, 2, 96, 32, 256, 10_000), experts=4),
    "mixtral-8x7b": replace(_llama(32, 4096, 32, 8, 14_336, 4096, 32_000, 1_000_000), experts=8),
}


def shaped(preset: str, by_hand: dict[str, int | None]) -> tuple[Shape, str | None]:
    """The shape, and its differences from the preset (`layers 12 -> 2`)."""
    whole = PRESETS[preset]
    given = {name: value for name, value in by_hand.items() if value is not None}
    shape = replace(whole, **given)
    changes = [
        f"{name} {getattr(whole, name)} -> {value}"
        for name, value in given.items()
        if value != getattr(whole, name)
    ]
    return shape, ", ".join(changes) or None
