"""The cost of a token in physical terms, each a time with one parameter.

Their numbers, priors and sources are in terms.toml.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from .numbers import number, priors
from .setting import ASSUMED_SEQ_LEN, REPEATED, Setting

_BYTES = number("transferred")
_SCORES = number("attention_flops")
_ELEMENTS = number("element_bytes")
_LAUNCH = number("layer_launch")
_REDUCES = number("all_reduces")
_TILE = number("tile")
_CORE = number("tensor_core")
_WHOLE, _SPLIT = number("kept_whole"), number("kept_split")


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a cost; its parameter multiplies `of`.

    `usual`, `spread`: the prior of the parameter's logarithm. `of`: device-seconds a token, or GB
    of a device, at a parameter of 1. `piped`: waits in the pipeline's bubble with the rest of a
    micro-batch.
    """

    name: str
    title: str
    usual: float
    spread: float
    of: Callable[[Setting], float]
    words: str  # the formula of `of`
    piped: bool = True


def recomputed(setting: Setting) -> float:
    """FLOPs of matrix products with recomputation over those without: a third is forward, which
    full recompute repeats."""
    return REPEATED if setting.recompute == "full" else 1.0


def attention_recomputed(setting: Setting) -> float:
    """The same of attention scores, which selective recompute repeats too (2205.05198)."""
    return REPEATED if setting.recompute in ("full", "selective") else 1.0


def _ideal(setting: Setting) -> float:
    gained = (setting.format_speedup - 1) * number("narrow_kept")
    return setting.flops / _wide_peak(setting) / (1 + gained)


def _wide_peak(setting: Setting) -> float:
    peak = setting.peak_flop_s
    return peak / setting.format_speedup if peak else number("unknown_peak")


def _exposed(time: float, work: float) -> float:
    """The part of a time that concurrent work does not hide: little of a short time, nearly all of
    a long one."""
    return time * time / (time + number("hidden_behind") * work) if time else 0.0


def compute(setting: Setting) -> float:
    """Matrix products at the peak."""
    return _ideal(setting) * recomputed(setting)


def attention(setting: Setting) -> float:
    """Scores and their use, at 16 bits (F8)."""
    work = _SCORES * setting.layers * setting.hidden * (setting.seq_len or ASSUMED_SEQ_LEN)
    return work / _wide_peak(setting) * attention_recomputed(setting)


def elements(setting: Setting) -> float:
    """What is read and written once."""
    work = _ELEMENTS * setting.layers * setting.hidden * recomputed(setting)
    return work / setting.links.memory


def kernels(setting: Setting) -> float:
    """A layer of a micro-batch starts its kernels ahead of those that run."""
    if not setting.mbs or not setting.seq_len:
        return 0.0
    starts = _LAUNCH * setting.layers * setting.tp * recomputed(setting)
    return _exposed(starts / (setting.mbs * setting.seq_len), compute(setting))


def _tensor(setting: Setting) -> float:
    """Bytes of all-reduces a token. In a ring a device sends 2 (t - 1) / t of the activations:
    t devices together 2 (t - 1) times them."""
    times = _REDUCES + 2 if setting.recompute == "full" else _REDUCES
    return times * 2 * _BYTES * setting.layers * setting.hidden * (setting.tp - 1)


def tensor_inside(setting: Setting) -> float:
    """All-reduces of TP over the links of a node."""
    inside = setting.tp <= setting.devices_per_node
    return _tensor(setting) / setting.links.inside if inside else 0.0


def tensor_across(setting: Setting) -> float:
    """All-reduces of TP over the network."""
    inside = setting.tp <= setting.devices_per_node
    return 0.0 if inside else _tensor(setting) / setting.links.across


def stages(setting: Setting) -> float:
    """Activations and their gradients between stages; TP ranks send a part each."""
    if setting.pp <= 1:
        return 0.0
    return 2 * _BYTES * setting.hidden * setting.vpp * setting.pp / setting.links.across


def keys(setting: Setting) -> float:
    """Each CP rank gets the keys and values of the others, again backward, and sends gradients."""
    width = setting.hidden * setting.kv_share
    sent = 6 * _BYTES * setting.layers * width * (setting.cp - 1)
    return _exposed(sent / _link(setting, setting.cp * setting.tp), compute(setting))


def _link(setting: Setting, ranks: float) -> float:
    """Bytes/s between ranks of a group: of the network, if it is larger than a node."""
    inside = ranks <= setting.devices_per_node
    return setting.links.inside if inside else setting.links.across


def data(setting: Setting) -> float:
    """Gradients, and with ZeRO 3 the weights of each micro-batch, over the slowest link.

    Gradients are exchanged during the last micro-batch, weights ahead of the layer that needs them.
    """
    ranks = setting.weight_replicas
    if ranks <= 1 or not setting.gbs or not setting.seq_len or setting.adapters:
        return 0.0
    volume = 2 * _BYTES * setting.params * (ranks - 1) / (setting.gbs * setting.seq_len)
    time, parts = volume / _link(setting, setting.devices), setting.micro_batches or 1
    if setting.zero < 3:
        return _exposed(time, compute(setting) / parts)
    return _exposed(time * (0.5 + parts), compute(setting))


def experts(setting: Setting) -> float:
    """A token's channels go to its experts and back, forward and backward; 1 / EP of them stay."""
    if setting.ep <= 1:
        return 0.0
    width = number("all_to_alls") * _BYTES * setting.hidden * setting.top_k
    return width * setting.layers * (setting.ep - 1) / setting.ep / _link(setting, setting.ep)


def optimizer(setting: Setting) -> float:
    """An update of the parameters."""
    if not setting.gbs or not setting.seq_len or setting.adapters:
        return 0.0
    shared = 1 if setting.zero else setting.weight_replicas
    moved = number("optimizer_bytes") * setting.params * shared
    return moved / (setting.gbs * setting.seq_len) / setting.links.memory


def step(setting: Setting) -> float:
    """What a step takes whatever its size."""
    if not setting.gbs or not setting.seq_len:
        return 0.0
    return number("step_constant") * setting.devices / (setting.gbs * setting.seq_len)


def jitter(setting: Setting) -> float:
    """Waiting that grows with the nodes."""
    return _ideal(setting) * math.log2(setting.nodes)


def bubble(setting: Setting) -> float:
    """Waiting time of a pipeline over its work: (p - 1) / (v m), arXiv 2104.04473 section 2.2."""
    m = setting.micro_batches
    return (setting.pp - 1) / (setting.vpp * m) if setting.pp > 1 and m else 0.0


def tile_waste(setting: Setting) -> float:
    """Share of computed columns that tiles of 128 add to the matrices of a layer split by TP."""
    if not setting.shape_is_stated:
        return 0.0
    split = (
        setting.hidden / setting.tp,
        3 * setting.hidden / setting.tp,
        4 * setting.hidden / setting.tp,
    )
    return sum(math.ceil(n / _TILE) * _TILE / n - 1 for n in split) / 3


def uneven_heads(setting: Setting) -> float:
    """1 if a head's channels are no multiple of 8, which tensor cores need."""
    if not setting.heads or not setting.shape_is_stated:
        return 0.0
    return float(setting.hidden / setting.heads % _CORE > 0)


def odd_heads(setting: Setting) -> float:
    """1 if the heads of a rank are more than 8 and no multiple of 8."""
    mine = setting.heads / setting.tp if setting.heads else 0
    return float(mine > _CORE and mine % _CORE > 0)


@dataclass(frozen=True, slots=True)
class Shape:
    """A factor that slows matrix products: exp(parameter x `of`), prior about 0."""

    name: str
    title: str
    spread: float
    of: Callable[[Setting], float]


def states(setting: Setting) -> float:
    """GB of weights, gradients and optimizer states of a device."""
    if setting.adapters:
        return 2 * setting.params / (setting.tp * setting.pp) / 1e9
    # Experts are split by EP too, which divides their replicas.
    dense, experts = setting.params - setting.expert_params, setting.expert_params / setting.ep
    replicas = setting.weight_replicas
    fewer = max(1.0, replicas / setting.ep)
    stored = dense * _state_bytes(setting.zero, replicas) + experts * _state_bytes(
        setting.zero, fewer
    )
    return stored / (setting.tp * setting.pp) / 1e9


def _state_bytes(zero: int, replicas: float) -> float:
    """Bytes a parameter of mixed-precision Adam, by ZeRO stage (1910.02054, figure 1)."""
    return {0: 16.0, 1: 4 + 12 / replicas, 2: 2 + 14 / replicas}.get(zero, 16 / replicas)


def all_activations(setting: Setting) -> float:
    """GB of activations of the first stage without recomputation, or with that of attention scores,
    which flash attention never stores: s b h (10 + 24 / t) bytes a layer (2205.05198, equation 4;
    34 / t with sequence parallelism) of the micro-batches of all stages (1F1B, 2104.04473)."""
    whole = _WHOLE / setting.tp if setting.sequence_parallel else _WHOLE
    kept = _inputs(setting) * (whole + _SPLIT / setting.tp) / _BYTES
    return kept * min(setting.pp, setting.micro_batches or setting.pp)


def _inputs(setting: Setting) -> float:
    """GB of the inputs of a stage's layers, of one micro-batch."""
    tokens = (setting.seq_len or ASSUMED_SEQ_LEN) * (setting.mbs or 1.0) / setting.cp
    return _BYTES * tokens * setting.hidden * setting.layers / setting.pp / 1e9


def activations(setting: Setting) -> float:
    """GB of what is kept of a stage: all of it, or with full recompute the inputs of layers."""
    if setting.recompute in ("none", "selective"):
        return all_activations(setting)
    return _inputs(setting) * min(setting.pp, setting.micro_batches or setting.pp)


def layer(setting: Setting) -> float:
    """GB of one layer in full and the logits, in fp16 and fp32 (2205.05198, equation 2)."""
    s, b, h, t = setting.seq_len or ASSUMED_SEQ_LEN, setting.mbs or 1.0, setting.hidden, setting.tp
    of_layer, logits = h * (_WHOLE + _SPLIT / t), number("logits") * setting.vocab / t
    return s * b * (of_layer + logits) / setting.cp / 1e9


def context(setting: Setting) -> float:
    """GB of libraries and their buffers."""
    return number("context")


@dataclass(frozen=True, slots=True)
class Law:
    """A cost as a sum of terms, times factors; `waits`: the share that a pipeline adds."""

    terms: tuple[Term, ...]
    shapes: tuple[Shape, ...]
    waits: Callable[[Setting], float]
    peak: bool  # the terms depend on the peak of the device


def _law(
    name: str, of: tuple[Callable[[Setting], float], ...], shapes: tuple[Shape, ...] = ()
) -> Law:
    """The law of functions that are declared by their names."""
    known = priors(name)
    terms = (
        Term(each, one.title, math.log(one.usual), one.spread, amount, one.amount, one.piped)
        for amount in of
        for each, one in ((amount.__name__, known[amount.__name__]),)
    )
    is_pace = name == "pace"
    return Law(tuple(terms), shapes, bubble if is_pace else lambda one: 0.0, peak=is_pace)


PACE = _law(
    "pace",
    (compute, attention, elements, kernels, tensor_inside, tensor_across, stages, keys, experts,
     jitter, data, optimizer, step),
    tuple(
        Shape(of.__name__, one.title, one.spread, of)
        for of in (tile_waste, uneven_heads, odd_heads)
        for one in (priors("shape")[of.__name__],)
    ),
)  # fmt: skip
MEMORY = _law("memory", (states, activations, layer, context))
