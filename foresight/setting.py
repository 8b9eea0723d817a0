"""A run as the numbers of a cost model: work, traffic and tiles a token."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from ..audit.memory import GB, gib_of
from ..decide.rows import batch_of
from ..schema.warehouse import Row
from ..vocabulary.hardware import device_of, memory_in, watts_in
from .numbers import Links, links_of, number

ASPECT = number("aspect")  # hidden size over layers of usual models, if no source states the shape
_NARROW = {"fp8": 2, "fp4": 4}  # number formats, and their speed-up over those of 16 bits
ASSUMED_SEQ_LEN = number("sequence")  # tokens, if no source states the length of a sequence
VOCAB = number("vocabulary")  # words, if no source states them
NODE = int(number("node"))  # devices of a node, if unstated
ZERO = 0  # the default stage
# FLOPs of a printed TFLOP/s, as Megatron-LM counts them (2104.04473, equation 3).
_PRINTED_SCORES = number("printed_scores")
REPEATED = 4 / 3  # work with full recompute over that without: a third of it is forward
_FROZEN = number("frozen")  # of the FLOPs of training: frozen weights have no gradients


@dataclass(frozen=True, slots=True)
class Setting:
    """A configuration in the model's terms.

    `s_per_token`: device-seconds a token, None: to predict; `flops`: FLOPs a token without
    recomputation; `peak_flop_s`: dense FLOP/s of a device, None if unknown.
    Keys are equal for runs that share a system, a source, a model or flags.
    """

    system: Hashable
    source: tuple[str, str | None]  # a document, or all logs of a trainer; and the regime in it
    model: Hashable
    shape: Hashable
    group: Hashable  # equal for repeats of one configuration
    other_settings: Mapping[str, str]  # other settings: flags, number format, recompute, ...
    flops: float
    peak_flop_s: float | None
    format_speedup: float  # the peak over that of 16 bits
    links: Links
    params: float
    expert_params: float  # parameters of the experts among these
    layers: float
    hidden: float
    heads: float | None
    vocab: float
    kv_share: float  # heads of keys and values over all heads
    top_k: float  # experts of a token
    shape_is_stated: bool  # the shape is stated; else that of a usual model of its size
    seq_len: float | None
    devices: float
    devices_per_node: float
    tp: float
    pp: float
    cp: float
    ep: float
    vpp: float
    mbs: float | None
    gbs: float | None
    zero: int
    zero_is_stated: bool  # the ZeRO stage is stated
    recompute: str | None
    sequence_parallel: bool  # TP ranks also split what they would all keep
    adapters: bool  # weights are not trained, only adapters beside them
    device_memory_gb: float | None  # GB of a device
    s_per_token: float | None = None
    s_per_token_by_flops: float | None = None  # by printed TFLOP/s
    noise: float = 0.0  # deviation of ln(pace) by printed digits, or by how FLOPs were counted
    jobs: int = 1
    peak_memory_gb: float | None = None  # GB of a device at its peak
    group_any_day: Hashable = None  # equal for repeats on any day

    @property
    def by_flops(self) -> bool:
        """Whether nothing but printed TFLOP/s tells the pace."""
        return self.s_per_token is not None and self.s_per_token == self.s_per_token_by_flops

    @property
    def dp(self) -> float:
        """Replicas by the parallel sizes."""
        return max(1.0, self.devices / (self.tp * self.pp * self.cp))

    @property
    def weight_replicas(self) -> float:
        """Devices that hold the same weights and see other tokens: DP x CP. Megatron-LM's
        distributed optimizer, and FSDP, shard over all of them."""
        return self.dp * self.cp

    @property
    def nodes(self) -> float:
        """Nodes for the devices."""
        return max(1.0, self.devices / self.devices_per_node)

    @property
    def micro_batches(self) -> float | None:
        """Micro-batches a step and replica."""
        if not self.gbs or not self.mbs:
            return None
        return max(1.0, self.gbs / (self.mbs * self.dp))


def setting(row: Row) -> Setting | None:
    """A run or a configuration as numbers; None if devices or the model's size are unknown."""
    flops, devices = _flops(row), row["device_count"]
    if not flops or not devices:
        return None
    params = _params(row) or flops / 6
    layers, hidden = row["layers"], row["hidden"]
    shaped = bool(layers and hidden)
    if not hidden:
        hidden = math.sqrt(params / 12 / layers) if layers else (params * ASPECT / 12) ** (1 / 3)
    batch, dense = batch_of(row), params / max(1.0, row["experts"] or 1)
    layers = layers or dense / 12 / hidden**2
    adapters, pace, printed = _adapters(row), _pace(row), _prints_flops(row)
    if printed:
        scores = _PRINTED_SCORES * layers * hidden * (row["seq_len"] or ASSUMED_SEQ_LEN)
        printed = (flops + scores) * (REPEATED if row["recompute"] == "full" else 1.0) / printed
    if batch is None and row["mbs"] and row["grad_accum"] is None and row["device_batch"]:
        batch = row["device_batch"] * devices
    return Setting(
        system=system_of(row),
        source=(source_of(row), row["regime"]),
        model=(row["size"], row["model"]),
        shape=_shape(row),
        group=_group(row),
        other_settings=words_of(row),
        flops=flops * (_FROZEN if adapters else 1.0),
        peak_flop_s=_peak(row),
        format_speedup=float(_NARROW.get(row["dtype"] or "", 1)),
        links=links_of(row),
        params=params,
        expert_params=_of_experts(row, params),
        layers=float(layers),
        hidden=float(hidden),
        heads=row["heads"],
        vocab=float(row["vocab_used"] or VOCAB),
        kv_share=_kv_share(row),
        top_k=float(row["moe_top_k"] or number("top_k")),
        shape_is_stated=shaped,
        seq_len=row["seq_len"],
        devices=float(devices),
        devices_per_node=float(devices / row["nodes"] if row["nodes"] else min(devices, NODE)),
        tp=float(row["tp"] or 1),
        pp=float(row["pp"] or 1),
        cp=float(row["cp"] or 1),
        ep=float(row["ep"] or 1),
        vpp=float(row["vpp"] or 1),
        mbs=None if is_of_the_pipeline(row, batch) else row["mbs"],
        gbs=batch,
        zero=row["zero_stage"] or ZERO,
        zero_is_stated=row["zero_stage"] is not None,
        recompute=row["recompute"],
        # Context parallelism came after it, and ranks that split sequences keep none whole.
        sequence_parallel=bool(row["sequence_parallel"]) or (row["cp"] or 1) > 1,
        adapters=adapters,
        device_memory_gb=room(row["device"]),
        s_per_token=pace or printed,
        s_per_token_by_flops=printed,
        noise=_rounding(row) if pace else number("printed_noise"),
        jobs=row.get("jobs") or 1,
        peak_memory_gb=row["memory_gb"],
        group_any_day=_group(row, dated=False),
    )  # fmt: skip


def is_of_the_pipeline(row: Row, batch: float | None) -> bool:
    """Whether a run's micro-batch is torchtitan's: the batch shared by a whole pipeline; of an
    unknown program, if it makes one micro-batch of a replica's batch, which leaves stages idle. A
    requested micro-batch has the usual meaning."""
    stages = row["pp"] or 1
    if stages == 1 or row["origin"] == "prediction" or not row["mbs"]:
        return False
    if row["framework"] is not None or not batch:
        return bool(row["framework"] == "torchtitan")
    replicas = row["device_count"] / (stages * (row["tp"] or 1) * (row["cp"] or 1))
    return bool(batch == row["mbs"] * replicas)


def source_of(row: Row) -> str:
    """What a run shares its program and network with: its document, or all logs of its trainer.

    A sweep leaves a file, often a folder, for each run: none of them is a source by itself.
    """
    of = row["base"] if row["origin"] == "prediction" else row
    trainer = of["framework"] or "an unknown trainer"
    return f"logs of {trainer}" if of["origin"] == "log" else str(of["uri"])


def system_of(row: Row) -> Hashable:
    """The kind of device, if known to hardware.toml: sources use many spellings."""
    known = device_of(row["device"]) if row["device"] else None
    return known.name if known else row["system"]


def _flops(row: Row) -> float | None:
    """FLOPs of the matrix products of a token: six per parameter that it uses, no attention."""
    used = _used(row)
    return 6.0 * used if used else None


def _used(row: Row) -> float | None:
    """The parameters that a token uses: all, of experts the stated ones or its share of theirs.

    Of a known shape, what is no attention and no embedding is of the experts.
    """
    if row["active_b"]:
        return 1e9 * float(row["active_b"])
    params, experts = _params(row), max(row["experts"] or 1, row["ep"] or 1)
    if row["dense"] is not False and experts <= 1:
        return params
    layers, hidden, chosen = row["layers"], row["hidden"], row["moe_top_k"]
    if not (params and layers and hidden and chosen and row["experts"]):
        return None
    attention = float(layers * hidden**2) * (2 + 2 * _kv_share(row))
    embeddings = 2 * float(row["vocab_used"] or VOCAB) * float(hidden)
    dense = min(params, attention + embeddings)
    return dense + (params - dense) * min(1.0, float(chosen / row["experts"]))


def _params(row: Row) -> float | None:
    known = row["params_computed"] or row["params_stated"]
    return float(known) if known else float(row["params_b"] * 1e9) if row["params_b"] else None


def _kv_share(row: Row) -> float:
    """Heads of keys and values over all heads."""
    heads, shared = row["heads"], row["kv_heads"]
    return min(1.0, shared / heads) if heads and shared else 1.0


def _of_experts(row: Row, params: float) -> float:
    """Parameters of all experts: a token uses only a few of them."""
    experts, used = max(row["experts"] or 1, row["ep"] or 1), _used(row)
    if experts <= 1 or not used:
        return 0.0
    chosen = min(row["moe_top_k"] or 1, experts - 1)
    return min(params, max(0.0, params - used) * experts / (experts - chosen))


def _pace(row: Row) -> float | None:
    """Device-seconds a token."""
    if row["tokens_per_s_per_device"]:
        return 1 / float(row["tokens_per_s_per_device"])
    if row["tokens_per_s"] and row["device_count"]:
        return float(row["device_count"] / row["tokens_per_s"])
    return None


def _adapters(row: Row) -> bool:
    """Whether only adapters beside the weights are trained."""
    return "adapters" in (row["flags"] or ())


def _prints_flops(row: Row) -> float | None:
    """FLOP/s that a run prints of a device, if it says no more of its speed; none of adapters,
    whose FLOPs are counted in many ways."""
    printed = row["tflops"] if row["origin"] != "prediction" and not _adapters(row) else None
    return float(printed) * 1e12 if printed else None


def _peak(row: Row) -> float | None:
    if row["peak_tflops"]:
        return float(row["peak_tflops"]) * 1e12
    device = device_of(row["device"]) if row["device"] else None
    if device is None:
        return None
    if row["dtype"] in device.peak:
        return device.peak[row["dtype"]] * 1e12
    wide = [peak for name, peak in device.peak.items() if name not in _NARROW]
    # Formats of half the width have twice the rate if theirs is not stored.
    return max(wide) * _NARROW.get(row["dtype"] or "", 1) * 1e12 if wide else None


def room(device: str | None) -> float | None:
    """GB (1e9 bytes) of a device, by its name or known specification."""
    gib = gib_of(device) or memory_in(device or "")
    return gib * GB["GiB"] if gib else None


def _rounding(row: Row) -> float:
    low, high, mid = (row[f"tokens_per_s{end}"] for end in ("_low", "_high", ""))
    return (high - low) / mid / math.sqrt(12) if low and high and mid and row["basis"] else 0.0


def _shape(row: Row) -> Hashable:
    shape = (row["layers"], row["hidden"], row["heads"])
    return shape if row["layers"] and row["hidden"] else (row["size"], row["model"])


def words_of(row: Row) -> dict[str, str]:
    """Settings without a size, by name; only the ZeRO stage has a default.

    The day of a run is one of them.
    """
    kinds = ("recompute", "zero_stage", "dtype", "dtype_printed", "sequence_parallel", "recipe",
             "async_launch")  # fmt: skip
    words = {name: str(row[name]) for name in kinds if row[name] is not None}
    words["zero_stage"] = str(row["zero_stage"] or ZERO)
    if limit := watts_in(row["device"] or ""):
        words["power limit"] = f"{limit:g} W"
    # A repair changes a machine: a prediction is for the day of its base run.
    if date := (row["base"] if row["origin"] == "prediction" else row)["date"]:
        words["date"] = str(date)[:10]
    env: dict[str, str] = row["env"]
    return words | env | {f"column {name}": str(one) for name, one in row["others"].items()}


def _group(row: Row, dated: bool = True) -> Hashable:
    names = (
        "device_count",
        "nodes",
        "dp",
        "tp",
        "pp",
        "cp",
        "ep",
        "vpp",
        "mbs",
        "batch",
        "seq_len",
    )
    settings = words_of(row)
    words = frozenset((name, settings[name]) for name in settings if dated or name != "date")
    return (row["system"], _shape(row), words, *(row[name] for name in names))
