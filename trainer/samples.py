"""Synthetic samples: the same for every grid, with a pattern that can be learnt."""

from __future__ import annotations

from random import Random

import torch
from torch import Tensor

from .context import Contexts
from .groups import Groups
from .options import Options

LARGEST_STRIDE = 8


def sample(options: Options, iteration: int, index: int) -> list[int]:
    """Tokens stepping through the vocabulary from a random start; sequence length plus one."""
    rng = Random(f"{options.seed}/{iteration}/{index}")
    vocab = options.shape.vocab
    start, stride = rng.randrange(vocab), rng.randint(1, LARGEST_STRIDE)
    return [(start + stride * n) % vocab for n in range(options.shape.seq_len + 1)]


def batch(
    options: Options, groups: Groups, iteration: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """This replica's samples of one step: tokens, and their next tokens.

    Samples are dealt to replicas in turn, so that a micro-batch of all replicas is a slice; ranks
    that share sequences take their parts of the same samples.
    """
    dp, mbs = options.grid.dp, options.mbs
    starts = range(groups.place.data * mbs, options.gbs, dp * mbs)
    rows = [sample(options, iteration, start + n) for start in starts for n in range(mbs)]
    both, contexts = torch.tensor(rows, device=device), Contexts(groups.context)
    tokens, targets = (contexts.part(one, 1) for one in (both[:, :-1], both[:, 1:]))
    return tokens.contiguous(), targets.contiguous()
