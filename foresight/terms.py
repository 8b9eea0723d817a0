"""The cost of a token in physical terms, each a time with one parameter."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..vocabulary.dataclass import dataclass
from .setting import ASSUMED_SEQ_LEN, Setting

_BYTES = 2  # of a transferred number, at 16 bits
_LOST = 0.5  # share of the speed-up of narrow formats that is lost, as some work stays at 16 bits


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
    return 4 / 3 if setting.recompute == "full" else 1.0


def attention_recomputed(setting: Setting) -> float:
    """The same of attention scores, which selective recompute repeats too (2205.05198)."""
    return 4 / 3 if setting.recompute in ("full", "selective") else 1.0


def _ideal(setting: Setting) -> float:
    return setting.flops / _wide_peak(setting) / (1 + (setting.format_speedup - 1) * (1 - _LOST))


def _wide_peak(setting: Setting) -> float:
    return setting.peak_flop_s / setting.format_speedup if setting.peak_flop_s else 1e14


def _exposed(time: float, setting: Setting) -> float:
    """The part of a time that matrix products do not hide: little of a short time, nearly all of a
    long one."""
    return time * time / (time + 2 * _compute(setting)) if time else 0.0


def _compute(setting: Setting) -> float:
    return _ideal(setting) * recomputed(setting)


def _attention(setting: Setting) -> float:
    # Scores and their use, forward and backward, halved for the causal mask (F8); at 16 bits.
    work = 6 * setting.layers * setting.hidden * (setting.seq_len or ASSUMED_SEQ_LEN)
    return work / _wide_peak(setting) * attention_recomputed(setting)


def _elements(setting: Setting) -> float:
    # About a hundred bytes a channel are read and written forward, as many backward.
    return 200 * setting.layers * setting.hidden * recomputed(setting) / setting.links.memory


def _kernels(setting: Setting) -> float:
    # A layer of a micro-batch starts about fifty kernels, 20 us each, ahead of those that run.
    if not setting.mbs or not setting.seq_len:
        return 0.0
    starts = (
        1e-3 * setting.layers * setting.tp * recomputed(setting) / (setting.mbs * setting.seq_len)
    )
    return _exposed(starts, setting)


def _tensor(setting: Setting) -> float:
    # All-reduces of 2 h bytes a token, four times a layer, six with full recompute (2104.04473). In
    # a ring a device sends 2 (t - 1) / t of that: t devices together 2 (t - 1) times 2 h.
    if setting.tp <= 1:
        return 0.0
    times = 6 if setting.recompute == "full" else 4
    return times * 2 * _BYTES * setting.layers * setting.hidden * (setting.tp - 1)


def _tensor_inside(setting: Setting) -> float:
    return (
        _tensor(setting) / setting.links.inside if setting.tp <= setting.devices_per_node else 0.0
    )


def _tensor_across(setting: Setting) -> float:
    return _tensor(setting) / setting.links.across if setting.tp > setting.devices_per_node else 0.0


def _stages(setting: Setting) -> float:
    if setting.pp <= 1:
        return 0.0
    # TP ranks send a part each.
    return 2 * _BYTES * setting.hidden * setting.vpp * setting.pp / setting.links.across


def _keys(setting: Setting) -> float:
    # Each CP rank gets the keys and values of the others, again backward, and sends gradients.
    if setting.cp <= 1:
        return 0.0
    link = (
        setting.links.across
        if setting.cp * setting.tp > setting.devices_per_node
        else setting.links.inside
    )
    return 6 * _BYTES * setting.layers * setting.hidden * (setting.cp - 1) / link


def _data(setting: Setting) -> float:
    """Gradients, and with ZeRO 3 the weights of each micro-batch, over the slowest link."""
    ranks = setting.weight_replicas
    if ranks <= 1 or not setting.gbs or not setting.seq_len or setting.adapters:
        return 0.0
    link = (
        setting.links.across if setting.devices > setting.devices_per_node else setting.links.inside
    )
    volume = 2 * _BYTES * setting.params * (ranks - 1) / (setting.gbs * setting.seq_len)
    if setting.zero < 3:
        return volume / link
    return _exposed(volume * (0.5 + (setting.micro_batches or 1)) / link, setting)


def _experts(setting: Setting) -> float:
    if setting.ep <= 1:
        return 0.0
    # A token's channels go to its experts and back, forward and backward; 1 / EP of them stay.
    link = setting.links.across if setting.ep > setting.devices_per_node else setting.links.inside
    sent = 8 * _BYTES * setting.layers * setting.hidden * (setting.ep - 1) / setting.ep
    return sent / link


def _optimizer(setting: Setting) -> float:
    if not setting.gbs or not setting.seq_len or setting.adapters:
        return 0.0
    shared = 1 if setting.zero else setting.weight_replicas
    return 20 * setting.params * shared / (setting.gbs * setting.seq_len) / setting.links.memory


def _step(setting: Setting) -> float:
    if not setting.gbs or not setting.seq_len:
        return 0.0
    return 0.05 * setting.devices / (setting.gbs * setting.seq_len)


def _jitter(setting: Setting) -> float:
    return _ideal(setting) * math.log2(setting.nodes)


WAITING = "(PP - 1) / (VPP x micro-batches) of what micro-batches cost"

_PACE = (
    Term("compute", "matrix products", math.log(2.0), 0.35, _compute,
         "6 FLOPs x parameters / peak, x 4/3 with full recompute"),
    Term("attention", "attention scores", math.log(2.5), 0.7, _attention,
         "6 x layers x hidden x sequence length / peak, x 4/3 with any recompute"),
    Term("elements", "norms, activations, residuals", 0.0, 0.7, _elements,
         "200 bytes x layers x hidden / memory bandwidth"),
    Term("kernels", "kernel launches", 0.0, 1.0, _kernels,
         "1 ms x layers x TP / (MBS x sequence length), beyond matrix products"),
    Term("tensor", "tensor parallelism inside a node", -0.3, 0.4, _tensor_inside,
         "4 all-reduces of a layer, 6 with full recompute / links of a node"),
    Term("tensor_across", "tensor parallelism across nodes", 0.0, 0.7, _tensor_across,
         "4 all-reduces of a layer, 6 with full recompute / network"),
    Term("pipeline", "activations between stages", 0.0, 0.4, _stages,
         "4 bytes x hidden x VPP x PP / network"),
    Term("keys", "keys and values between CP ranks", math.log(0.5), 1.0, _keys,
         "12 bytes x layers x hidden x (CP - 1) / links"),
    Term("experts", "all-to-all of experts", 0.0, 1.0, _experts,
         "16 bytes x layers x hidden x (EP - 1) / EP / links"),
    Term("jitter", "waiting for the slowest node", math.log(0.01), 1.0, _jitter,
         "FLOPs / peak x doublings of nodes", piped=False),
    Term("data", "gradients, with weights under ZeRO 3", math.log(0.5), 1.0, _data,
         "4 bytes x parameters x (DP x CP - 1) / tokens of a step / links; ZeRO 3 also of each"
         " micro-batch, beyond matrix products", piped=False),
    Term("optimizer", "optimizer", 0.0, 1.0, _optimizer,
         "20 bytes x parameters / tokens of a step / memory bandwidth", piped=False),
    Term("step", "constant of a step", 0.0, 1.5, _step,
         "0.05 s x devices / tokens of a step", piped=False),
)  # fmt: skip


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
    return sum(math.ceil(n / 128) * 128 / n - 1 for n in split) / 3


def uneven_heads(setting: Setting) -> float:
    """1 if a head's channels are no multiple of 8, which tensor cores need."""
    return float(
        bool(setting.heads and setting.shape_is_stated and setting.hidden / setting.heads % 8)
    )


def odd_heads(setting: Setting) -> float:
    """1 if the heads of a rank are more than 8 and no multiple of 8."""
    mine = setting.heads / setting.tp if setting.heads else 0
    return float(mine > 8 and mine % 8 > 0)


@dataclass(frozen=True, slots=True)
class Shape:
    """A factor that slows matrix products: exp(parameter x `of`), prior about 0."""

    name: str
    title: str
    spread: float
    of: Callable[[Setting], float]


_SHAPES = (
    Shape("tiles", "tiles that are not full", 1.0, tile_waste),
    Shape("head", "head size no multiple of 8", 0.3, uneven_heads),
    Shape("heads", "heads of a rank no multiple of 8", 0.1, odd_heads),
)


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
    which flash attention never stores: s b h (10 + 24 / t) bytes a layer (2205.05198, equation 4)
    of the micro-batches of all stages (1F1B, 2104.04473)."""
    kept = _inputs(setting) * (5 + 12 / setting.tp)
    return kept * min(setting.pp, setting.micro_batches or setting.pp)


def _inputs(setting: Setting) -> float:
    """GB of the inputs of a stage's layers, of one micro-batch."""
    tokens = (setting.seq_len or ASSUMED_SEQ_LEN) * (setting.mbs or 1.0) / setting.cp
    return 2 * tokens * setting.hidden * setting.layers / setting.pp / 1e9


def _activations(setting: Setting) -> float:
    if setting.recompute in ("none", "selective"):
        return all_activations(setting)
    return _inputs(setting) * min(setting.pp, setting.micro_batches or setting.pp)


def _layer(setting: Setting) -> float:
    """One layer in full and the logits, in fp16 and fp32 (2205.05198, equation 2)."""
    s, b, h, t = setting.seq_len or ASSUMED_SEQ_LEN, setting.mbs or 1.0, setting.hidden, setting.tp
    return s * b * (h * (10 + 24 / t) + 6 * setting.vocab / t) / setting.cp / 1e9


def _context(setting: Setting) -> float:
    return 1.5  # GB of libraries and their buffers


_MEMORY_TERMS = (
    Term("states", "weights, gradients, optimizer", 0.1, 0.3, states,
         "16 bytes a parameter / (TP x PP), of experts / EP, shared by DP under ZeRO", piped=False),
    Term("activations", "activations of the stages", 0.2, 0.5, _activations,
         "layers of a stage x micro-batches in flight", piped=False),
    Term("layer", "one layer and the logits", 0.2, 0.5, _layer,
         "one layer and the logits of a micro-batch", piped=False),
    Term("context", "libraries and buffers", 0.3, 0.7, _context,
         "1.5 GB", piped=False),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Law:
    """A cost as a sum of terms, times factors; `waits`: the share that a pipeline adds."""

    terms: tuple[Term, ...]
    shapes: tuple[Shape, ...]
    waits: Callable[[Setting], float]
    peak: bool  # the terms depend on the peak of the device


PACE = Law(_PACE, _SHAPES, bubble, peak=True)
MEMORY = Law(_MEMORY_TERMS, (), lambda one: 0.0, peak=False)
