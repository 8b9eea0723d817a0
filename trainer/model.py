"""GPT-2 or Llama, or a pipeline stage of it. No dropout."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .attention import Attention, rotations
from .context import Contexts
from .experts import Mixture
from .groups import Group, Groups
from .mlp import Mlp
from .options import Options
from .presets import Shape
from .tensor import Embedding, Tensors

EMBEDDING = "embedding.weight"
VOCABULARY = (EMBEDDING, "output.weight")  # rows of tokens, including dummy ones
EXPERTS = ".experts."  # in the names of their parameters
# The dimension split over tensor-parallel ranks, by suffix of the parameter's name. All others are
# replicated: norms, positions, and the biases added after a sum.
CUT = {
    **dict.fromkeys(VOCABULARY, 0),
    "query_key_value.weight": 0,
    "query_key_value.bias": 0,
    "widen.weight": 0,
    "widen.bias": 0,
    "project.weight": 1,
    "narrow.weight": 1,
}
# The last matrices of residual branches are initialised smaller with more layers (GPT-2).
ENDS = ("project.weight", "narrow.weight")


@dataclass(frozen=True, slots=True)
class Axes:
    """The parallel axes of this rank's layers."""

    tensors: Tensors
    contexts: Contexts
    experts: Group  # ranks with the other experts


class Block(nn.Module):
    """One layer: attention and MLP, each as a residual branch."""

    def __init__(self, shape: Shape, axes: Axes) -> None:
        super().__init__()
        self.norm_1 = norm(shape)
        self.attention = Attention(shape, axes.tensors, axes.contexts)
        self.norm_2 = norm(shape)
        self.mlp = (
            Mixture(shape, axes.tensors, axes.experts)
            if shape.experts
            else Mlp(shape, axes.tensors)
        )

    def forward(self, x: Tensor, rope: Tensor | None = None) -> Tensor:
        """(batch, sequence or a part of it, hidden) to the same."""
        x = x + self.attention(self.norm_1(x), rope)
        mlp: Tensor = self.mlp(self.norm_2(x))
        return x + mlp


def norm(shape: Shape) -> nn.Module:
    """The normalisation: LayerNorm or RMSNorm."""
    return nn.RMSNorm(shape.hidden, 1e-5) if shape.is_llama else nn.LayerNorm(shape.hidden)


class Stage(nn.Module):
    """The layers of a pipeline stage; without pipeline, the whole model."""

    def __init__(self, options: Options, groups: Groups, number: int = 0) -> None:
        super().__init__()
        shape, self.options, self.groups = options.shape, options, groups
        self.number, self.first, self.last = number, number == 0, number == groups.grid.stages - 1
        tensors = Tensors(groups.tensor, options.sequence_parallel)
        self.axes = Axes(tensors, Contexts(groups.context, options.attention), groups.experts)
        # Shared by first and last stage: GPT-2's output layer is the embedding.
        self.tied = "" if shape.is_llama else EMBEDDING
        if self.first or (self.last and self.tied):
            self.embedding = self.vocabulary()
        if self.first and not shape.is_llama:
            self.positions = nn.Parameter(torch.empty(shape.seq_len, shape.hidden))
        layers = groups.grid.layers_of(number, shape.layers)
        # Named by their number in the whole model, since names determine initial values.
        self.layers = nn.ModuleDict({str(n): Block(shape, self.axes) for n in layers})
        if self.last:
            self.norm = norm(shape)
            if not self.tied:
                self.output = self.vocabulary()
        self.initialise()
        if options.compile:
            for layer in self.layers.values():
                layer.compile()

    def vocabulary(self) -> Embedding:
        """A new table with one row per token."""
        shape = self.options.shape
        return Embedding(shape.vocab, self.options.vocab, shape.hidden, self.axes.tensors)

    @torch.no_grad()
    def initialise(self) -> None:
        """Initialise full parameters from their names and the seed, then keep this rank's part."""
        shape, group = self.options.shape, self.groups.tensor
        for name, parameter in self.named_parameters():
            cut = cut_of(name)
            size = list(parameter.shape)
            if cut is not None:
                size[cut] *= group.size
            whole = torch.zeros(size)
            if "norm" in name and name.endswith("weight"):
                whole.fill_(1.0)
            elif not name.endswith("bias"):
                rng = torch.Generator().manual_seed(
                    zlib.crc32(f"{self.options.seed}/{name}".encode())
                )
                std = 0.02 / (2 * shape.layers) ** 0.5 if name.endswith(ENDS) else 0.02
                rows = shape.vocab if name in VOCABULARY else len(whole)
                whole[:rows].normal_(0.0, std, generator=rng)
            part = whole if cut is None else whole.chunk(group.size, cut)[group.rank]
            parameter.copy_(part)

    def forward(self, x: Tensor, targets: Tensor | None = None) -> Tensor:
        """Tokens or activations in, activations or the mean loss out."""
        bf16 = self.options.dtype != self.options.params_dtype
        with torch.autocast(x.device.type, torch.bfloat16, enabled=bf16):
            if self.first:
                x = self.embedding(x)
                x = x if self.options.shape.is_llama else x + self.my_positions()
            rope = self.my_rotations(x.device)
            for layer in self.layers.values():
                if self.options.recompute == "full":
                    x = checkpoint(layer, x, rope, use_reentrant=False)
                else:
                    x = layer(x, rope)
            if not self.last:
                return x
            assert targets is not None
            output: Embedding = self.embedding if self.tied else self.output
            return output.loss(self.norm(x), targets)

    def my_positions(self) -> Tensor:
        """Position vectors of this rank's part of the sequence."""
        mine = self.axes.contexts.part(self.positions, 0)
        if not self.axes.tensors.sequence_parallel:
            return mine
        group = self.groups.tensor
        return mine.chunk(group.size)[group.rank]

    def my_rotations(self, device: torch.device) -> Tensor | None:
        """Rotations of the positions of this rank's queries, for a Llama."""
        rope = rotations(self.options.shape, device)
        return None if rope is None else self.axes.contexts.part(rope, 1)


def cut_of(name: str) -> int | None:
    """The dimension of a parameter split over tensor-parallel ranks; None if replicated."""
    return next((cut for end, cut in CUT.items() if name.endswith(end)), None)
