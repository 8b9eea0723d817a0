"""Attention of a GPT-2 or a Llama, and Llama's rotary position embeddings."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .context import Contexts
from .presets import Shape
from .tensor import ColumnLinear, RowLinear, Tensors


class Attention(nn.Module):
    """Causal self-attention on this rank's heads and part of the sequence."""

    def __init__(self, shape: Shape, tensors: Tensors, contexts: Contexts) -> None:
        super().__init__()
        self.contexts = contexts
        self.kv_heads_per_rank = shape.kv // tensors.group.size
        self.queries_per_kv = shape.heads // shape.kv
        biased = not shape.is_llama
        # Queries of a shared key, the key and its value are adjacent, so no cut separates them.
        qkv = shape.hidden + 2 * shape.kv * shape.head
        self.query_key_value = ColumnLinear(shape.hidden, qkv, tensors, biased)
        self.project = RowLinear(shape.hidden, shape.hidden, tensors, biased)

    def forward(self, x: Tensor, rope: Tensor | None = None) -> Tensor:
        """The output of attention, shaped as its input.

        x: (batch, sequence, hidden); rope: (2, sequence, head / 2) of `rotations`, or None.
        Within: (batch, heads of this rank, sequence, head).
        """
        qkv = self.query_key_value(x)
        batch, length, _ = qkv.shape
        per_kv = self.queries_per_kv
        qkv = qkv.view(batch, length, self.kv_heads_per_rank, per_kv + 2, -1).transpose(1, 2)
        query, key, value = qkv.split((per_kv, 1, 1), 3)
        query, key, value = (one.transpose(2, 3).flatten(1, 2) for one in (query, key, value))
        if rope is not None:
            query, key = rotated(query, rope), rotated(key, rope)
        context = self.contexts.attend(query, key, value)
        out: Tensor = self.project(context.transpose(1, 2).reshape(batch, length, -1))
        return out


def rotations(shape: Shape, device: torch.device) -> Tensor | None:
    """Cosines and sines by position and pair of a head, (2, sequence, head / 2), for a Llama.

    RoPE (2104.09864), with the order of pairs in Llama's published weights.
    """
    if shape.rotary_base is None:
        return None
    pairs = torch.arange(0, shape.head, 2, device=device, dtype=torch.float32) / shape.head
    places = torch.arange(shape.seq_len, device=device, dtype=torch.float32)
    angles = torch.outer(places, shape.rotary_base**-pairs)
    return torch.stack((angles.cos(), angles.sin()))


def rotated(x: Tensor, rope: Tensor) -> Tensor:
    """(batch, heads, sequence, head): both halves of each head rotated by its position."""
    cos, sin = rope
    one, other = x.float().chunk(2, -1)
    return torch.cat((one * cos - other * sin, other * cos + one * sin), -1).to(x.dtype)
