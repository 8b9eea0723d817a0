"""GPT-2, or the stage of it that a rank holds. No dropout; the output layer is the embedding."""

from __future__ import annotations

import zlib

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .groups import Groups
from .options import Options
from .presets import Shape
from .tensor import ColumnLinear, Embedding, RowLinear, Tensors

EMBEDDING = "embedding.weight"
# Which dimension is cut among tensor-parallel ranks, by the end of a parameter's name. All others
# are whole on every rank: norms, positions, and the biases that come after a sum.
CUT = {
    EMBEDDING: 0,
    "query_key_value.weight": 0,
    "query_key_value.bias": 0,
    "widen.weight": 0,
    "widen.bias": 0,
    "project.weight": 1,
    "narrow.weight": 1,
}
# These end a residual branch: smaller at first, the more layers there are (GPT-2).
ENDS = ("project.weight", "narrow.weight")


class Attention(nn.Module):
    """Causal self-attention on this rank's heads."""

    def __init__(self, shape: Shape, tensors: Tensors) -> None:
        super().__init__()
        self.heads = shape.heads // tensors.group.size
        # Each head's query, key and value lie together, so that a cut never splits a head.
        self.query_key_value = ColumnLinear(shape.hidden, 3 * shape.hidden, tensors)
        self.project = RowLinear(shape.hidden, shape.hidden, tensors)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, sequence, hidden) to the same."""
        mixed = self.query_key_value(x)
        batch, length, width = mixed.shape
        mixed = mixed.view(batch, length, self.heads, 3, width // (3 * self.heads))
        query, key, value = mixed.transpose(1, 2).unbind(3)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        out: Tensor = self.project(seen.transpose(1, 2).reshape(batch, length, -1))
        return out


class Block(nn.Module):
    """One layer: attention and MLP, each beside the residual stream."""

    def __init__(self, shape: Shape, tensors: Tensors) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(shape.hidden)
        self.attention = Attention(shape, tensors)
        self.norm_2 = nn.LayerNorm(shape.hidden)
        self.widen = ColumnLinear(shape.hidden, shape.ffn, tensors)
        self.narrow = RowLinear(shape.ffn, shape.hidden, tensors)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, sequence or a part of it, hidden) to the same."""
        x = x + self.attention(self.norm_1(x))
        mlp: Tensor = self.narrow(F.gelu(self.widen(self.norm_2(x)), approximate="tanh"))
        return x + mlp


class Stage(nn.Module):
    """The layers of one pipeline stage; without pipeline, the whole model."""

    def __init__(self, options: Options, groups: Groups) -> None:
        super().__init__()
        shape, self.options, self.groups = options.shape, options, groups
        self.tensors = Tensors(groups.tensor, options.sequence_parallel)
        if groups.first or groups.last:
            self.embedding = Embedding(shape.vocab, options.vocab, shape.hidden, self.tensors)
        if groups.first:
            self.positions = nn.Parameter(torch.empty(shape.seq_len, shape.hidden))
        layers = groups.grid.layers_of(groups.place.pipeline, shape.layers)
        # By their number in the whole model: names decide what parameters start from.
        self.layers = nn.ModuleDict({str(n): Block(shape, self.tensors) for n in layers})
        if groups.last:
            self.norm = nn.LayerNorm(shape.hidden)
        self.initialise()

    @torch.no_grad()
    def initialise(self) -> None:
        """Fill every parameter from its name and the seed, whole, then keep this rank's part."""
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
                rows = shape.vocab if name == EMBEDDING else len(whole)
                whole[:rows].normal_(0.0, std, generator=rng)
            part = whole if cut is None else whole.chunk(group.size, cut)[group.rank]
            parameter.copy_(part)

    def forward(self, x: Tensor, targets: Tensor | None = None) -> Tensor:
        """Tokens or activations in, activations or the mean loss out."""
        bf16 = self.options.dtype == "bf16"
        with torch.autocast(x.device.type, torch.bfloat16, enabled=bf16):
            if self.groups.first:
                x = self.embedding(x) + self.my_positions()
            for layer in self.layers.values():
                if self.options.recompute == "full":
                    x = checkpoint(layer, x, use_reentrant=False)
                else:
                    x = layer(x)
            if not self.groups.last:
                return x
            assert targets is not None
            return self.embedding.loss(self.norm(x), targets)

    def my_positions(self) -> Tensor:
        """Position vectors of the part of the sequence that this rank keeps."""
        if not self.tensors.sequence_parallel:
            return self.positions
        group = self.groups.tensor
        return self.positions.chunk(group.size)[group.rank]


def cut_of(name: str) -> int | None:
    """The dimension of a parameter that is cut among tensor-parallel ranks; None: it is whole."""
    return next((cut for end, cut in CUT.items() if name.endswith(end)), None)
