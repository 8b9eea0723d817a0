"""Floating-point operations of one training step, as Megatron-DeepSpeed and others count them."""

from __future__ import annotations

from .presets import Shape

AS_PRINTED = {
    "none": "72 B s L h^2 (1 + s/(6h) + V/(16Lh)) / (T x processes)",
    "full": "96 B s L h^2 (1 + s/(6h) + V/(16Lh)) / (T x processes)",
}


def printed(shape: Shape, gbs: int, vocab: int, recompute: str) -> float:
    """What the log's TFLOPs count: Megatron-DeepSpeed's formula, to the letter.

    arXiv 2104.04473, equation 3, as coded in bigscience-workshop/Megatron-DeepSpeed ae6277f5: with
    recomputation the forward pass counts twice. The code leaves V/16 as it is without: then the
    output layer counts 4.5 B s h V instead of 6, and small models come out some percent low.
    """
    passes = 4 if recompute == "full" else 3
    s, layers, h = shape.seq_len, shape.layers, shape.hidden
    return 24 * passes * gbs * s * layers * h * h * (1 + s / (6 * h) + vocab / (16 * layers * h))


def model(shape: Shape, gbs: int, vocab: int) -> float:
    """Work that the model needs: no recomputation, attention counted in full.

    Megatron-LM 2748e7c7 (`--log-throughput`): 72 B s L h^2 (1 + s/(6h) + V/(12Lh)).
    """
    s, layers, h = shape.seq_len, shape.layers, shape.hidden
    return 72 * gbs * s * layers * h * h * (1 + s / (6 * h) + vocab / (12 * layers * h))


def causal(shape: Shape, gbs: int, vocab: int) -> float:
    """The same with half of the attention, since a token looks only backwards.

    Megatron-LM since March 2025 (num_floating_point_operations).
    """
    s, layers, h = shape.seq_len, shape.layers, shape.hidden
    return model(shape, gbs, vocab) - 6 * gbs * layers * h * s * s
