"""A Llama of the trainer beside the same arithmetic written out head by head."""

from __future__ import annotations

import importlib
import importlib.util
import math
from typing import Any

import pytest

from bench.trainer.grid import GridError
from bench.trainer.options import parse
from bench.trainer.presets import PRESETS

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="NOT TESTED: torch is missing, the Llama of the trainer was not compared",
)

SHAPE = PRESETS["llama-nano"]


@pytest.fixture(scope="module")
def torch() -> Any:  # Any: it may not be there
    return importlib.import_module("torch")


@pytest.fixture(scope="module")
def block(torch: Any) -> Any:
    """A layer on one rank, with numbers of its own."""
    model = importlib.import_module("bench.trainer.model")
    alone = importlib.import_module("bench.trainer.groups").Group(1, 0, None)
    tensors = importlib.import_module("bench.trainer.tensor").Tensors(alone)
    contexts = importlib.import_module("bench.trainer.context").Contexts(alone)
    made = model.Block(SHAPE, model.Axes(tensors, contexts, alone))
    rng = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(0.0, 0.3, generator=rng)
    return made


def turned(vector: Any, position: int) -> list[float]:
    """RoPE by complex numbers: the i-th numbers of a head's halves, by position x base^(-2i/d)."""
    half = len(vector) // 2
    out = [0.0] * len(vector)
    for i in range(half):
        angle = position * float(SHAPE.rotary_base or 0) ** (-2 * i / len(vector))
        number = complex(float(vector[i]), float(vector[half + i]))
        number *= complex(math.cos(angle), math.sin(angle))
        out[i], out[half + i] = number.real, number.imag
    return out


def evened(torch: Any, x: Any, weight: Any) -> Any:
    """RMSNorm."""
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * weight


def test_a_layer_is_that_of_llama(torch: Any, block: Any) -> None:
    x = torch.randn(1, 6, SHAPE.hidden, generator=torch.Generator().manual_seed(4))
    attention_ = importlib.import_module("bench.trainer.attention")
    turns = attention_.rotations(SHAPE, x.device)[:, :6]
    with torch.no_grad():
        found = block(x, turns)
        expected = x + attention(torch, block, evened(torch, x, block.norm_1.weight))
        inner = evened(torch, expected, block.norm_2.weight)
        wide = (inner @ block.mlp.widen.weight.T).view(1, 6, SHAPE.ffn, 2)
        gate, value = wide[..., 0], wide[..., 1]
        expected = expected + (gate * torch.sigmoid(gate) * value) @ block.mlp.narrow.weight.T
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-4), (found - expected).abs().max()
    assert not any(name.endswith("bias") for name, _ in block.named_parameters())


def test_a_rank_refuses_a_kernel_that_its_device_lacks(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "1")):
        monkeypatch.setenv(name, value)
    run = parse(["--attention", "cudnn", "--threads", str(torch.get_num_threads())])
    with pytest.raises(GridError, match="--attention cudnn"):  # in fp32 no device has it
        importlib.import_module("bench.trainer.loop").prepare(run)


def attention(torch: Any, block: Any, x: Any) -> Any:
    """Head by head, position by position: two heads share a key and a value."""
    mixed = (x @ block.attention.query_key_value.weight.T)[0]
    shared, head = SHAPE.heads // SHAPE.kv, SHAPE.head
    outs = []
    for kv in range(SHAPE.kv):
        rows = mixed[:, kv * (shared + 2) * head : (kv + 1) * (shared + 2) * head]
        keys = [turned(row[shared * head : (shared + 1) * head], at) for at, row in enumerate(rows)]
        values = rows[:, (shared + 1) * head :]
        for one in range(shared):
            queries = rows[:, one * head : (one + 1) * head]
            lines = []
            for at, query in enumerate(queries):
                scores = torch.tensor(keys[: at + 1]) @ torch.tensor(turned(query, at))
                lines.append(torch.softmax(scores / math.sqrt(head), 0) @ values[: at + 1])
            outs.append(torch.stack(lines))
    return (torch.cat(outs, -1) @ block.attention.project.weight.T).unsqueeze(0)
