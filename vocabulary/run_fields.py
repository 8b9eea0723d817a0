"""What a source states of a run: `python -m bench.vocabulary.fields` makes this file."""

from dataclasses import dataclass


@dataclass(slots=True)
class Stated:
    """Fields of a run by name; None: not stated. Units as `fields.toml` has them."""

    model: str | None
    params_b: float | None
    active_b: float | None
    params_stated: int | None
    device: str | None
    framework: str | None
    nodes: int | None
    devices: int | None
    ranks: int | None
    devices_per_node: int | None
    dp: int | None
    dp_replicate: int | None
    dp_shard: int | None
    tp: int | None
    pp: int | None
    cp: int | None
    ep: int | None
    etp: int | None
    vpp: int | None
    mbs: int | None
    gbs: int | None
    device_batch: float | None
    grad_accum: int | None
    seq_len: int | None
    zero_stage: int | None
    sequence_parallel: bool | None
    recompute: str | None
    procs_per_node: int | None
    dtype: str | None
    recipe: str | None
    async_launch: bool | None
    layers: int | None
    hidden: int | None
    heads: int | None
    kv_heads: int | None
    ffn_hidden: int | None
    vocab: int | None
    vocab_label: str | None
    swiglu: bool | None
    experts: int | None
    moe_top_k: int | None
    train_iters: int | None
    name: str | None
    date: str | None
