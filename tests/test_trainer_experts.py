"""A mixture of experts of the trainer beside the same arithmetic token by token."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import replace
from typing import Any

import pytest

from bench.trainer.presets import PRESETS

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="NOT TESTED: torch is missing, the experts of the trainer were not compared",
)

SHAPE = replace(PRESETS["moe-nano"], experts=6, hidden=8, ffn_hidden=4)


@pytest.fixture(scope="module")
def torch() -> Any:  # Any: it may not be there
    return importlib.import_module("torch")


@pytest.fixture
def mixture(torch: Any) -> Any:
    """All experts on one rank, with numbers of their own."""
    alone = importlib.import_module("bench.trainer.groups").Group(1, 0, None)
    tensors = importlib.import_module("bench.trainer.tensor").Tensors(alone)
    made = importlib.import_module("bench.trainer.experts").Mixture(SHAPE, tensors, alone)
    rng = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(0.0, 0.5, generator=rng)
    return made


def test_a_token_is_the_weighted_sum_of_its_best_experts(torch: Any, mixture: Any) -> None:
    x = torch.randn(2, 5, SHAPE.hidden, generator=torch.Generator().manual_seed(4))
    with torch.no_grad():
        found = mixture(x)
        for token, out in zip(x.flatten(0, 1), found.flatten(0, 1), strict=True):
            scores = [float(row @ token) for row in mixture.router.weight]
            first, second = sorted(range(6), key=lambda n: -scores[n])[:2]
            share = torch.sigmoid(torch.tensor(scores[first] - scores[second]))
            parts = []
            for number in (first, second):
                expert = mixture.experts[str(number)]
                gate, value = (expert.widen.weight @ token).view(-1, 2).unbind(-1)
                parts.append(expert.narrow.weight @ (gate * torch.sigmoid(gate) * value))
            expected = share * parts[0] + (1 - share) * parts[1]
            assert torch.allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_of_equal_scores_the_first_expert_is_taken(torch: Any) -> None:
    best = importlib.import_module("bench.trainer.experts").best
    weights, chosen = best(torch.tensor([[1.0, 3.0, 3.0, 3.0], [0.0, 0.0, 0.0, 0.0]]), 2)
    assert chosen.tolist() == [[1, 2], [0, 1]] and weights.tolist() == [[0.5, 0.5]] * 2


def test_an_expert_that_no_token_takes_has_gradients_of_zero(torch: Any, mixture: Any) -> None:
    """A rank that waited for them would wait for ever."""
    with torch.no_grad():
        mixture.router.weight.zero_()  # all tokens take the first two
    mixture(torch.ones(1, 3, SHAPE.hidden)).sum().backward()
    used = [float(one.widen.weight.grad.abs().sum()) > 0 for one in mixture.experts.values()]
    assert used == [True, True, False, False, False, False]
