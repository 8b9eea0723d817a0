"""Sweeps as people publish them, made from formulas of their own, and rows of them damaged.

It knows nothing of the audit: the FLOPs are counted here once more, from the layers up.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

KINDS = (
    "swap", "shift", "digit_time", "digit_tflops", "unit_time", "unit_memory", "gbs", "nodes",
    "topology", "stale", "formula",
)  # fmt: skip


@dataclass(frozen=True)
class Model:
    """A model and how its TFLOPs are counted; `stated` goes above the table."""

    label: str
    layers: int
    hidden: int
    heads: int
    groups: int
    ffn: int
    vocab: int
    seq_len: int
    gated: bool = False
    experts: int = 1
    causal: bool = False  # core attention halved
    factor: int = 3  # 4: full recompute counted
    stated: str = ""


@dataclass(frozen=True)
class Machine:
    """A machine: devices a node, processes a device, and the share of its peak that it reaches."""

    name: str
    per_node: int
    tflops: float
    unit: str = "Nodes"
    memory: float = 80.0


MODELS = (
    Model(
        "1.3B", 24, 2048, 16, 16, 8192, 50304, 2048, factor=4, stated="NHIDDEN=2048 / NLAYERS=24"
    ),
    Model(
        "22B", 48, 6144, 64, 64, 24576, 51200, 2048, factor=4, stated="NHIDDEN=6144 / NLAYERS=48"
    ),
    Model("8B", 32, 4096, 32, 8, 14336, 128256, 8192, gated=True, causal=True, factor=3),
    Model("70B", 80, 8192, 64, 8, 28672, 32000, 4096, gated=True, causal=True, factor=3),
    Model("47B", 32, 4096, 32, 8, 14336, 32000, 4096, gated=True, experts=2, causal=True, factor=3),
)
MACHINES = (
    Machine("A100 80GB", 8, 130.0),
    Machine("H100", 8, 420.0, "GPUs"),
    Machine("V100 32GB", 4, 45.0, memory=32.0),
    Machine("A64FX", 1, 1.1, memory=32.0),
    Machine("MI300X", 8, 380.0, "GPUs", 192.0),
)
COLUMNS = ("nodes", "size", "dp", "tp", "pp", "mbs", "gbs", "mem", "time", "tflops", "notes")


@dataclass(frozen=True)
class Row:
    """A row: the text of each cell, and the numbers behind them."""

    cells: tuple[str, ...]
    world: int
    gbs: int
    time: float
    tflops: float

    def cell(self, name: str) -> str:
        return self.cells[COLUMNS.index(name)]

    def put(self, **texts: str) -> Row:
        cells = [texts.get(name, cell) for name, cell in zip(COLUMNS, self.cells, strict=False)]
        return replace(self, cells=(*cells, *self.cells[len(COLUMNS) :]))


@dataclass
class Sweep:
    """A document with one table."""

    model: Model
    machine: Machine
    rows: list[Row]
    decimals: tuple[int, int]
    time_unit: str = "s"
    damaged: int | None = None
    kind: str = ""
    visible: bool = True
    lines: list[int] = field(default_factory=list)

    def text(self) -> str:
        head = {
            "nodes": self.machine.unit,
            "size": "Size",
            "dp": "DP",
            "tp": "TP",
            "pp": "PP",
            "mbs": "MBS",
            "gbs": "GBS",
            "mem": "Mem",
            "time": f"Step time ({self.time_unit})",
            "tflops": "TFLOPs",
            "notes": "Notes",
        }
        lines = [
            "# A sweep",
            "",
            f"Sequence length={self.model.seq_len} on {self.machine.name}",
            "",
        ]
        if self.model.stated:
            lines += [f"{self.model.stated} / SEQ_LEN={self.model.seq_len}", ""]
        else:
            lines += [f"SEQ_LEN={self.model.seq_len}", ""]
        if self.machine.per_node > 1 and self.machine.unit == "Nodes":
            lines += [f"{self.machine.per_node} GPUs per node", ""]
        lines += [_line(tuple(head.values())), _line(tuple("--:" for _ in head))]
        self.lines = [len(lines) + 1 + place for place in range(len(self.rows))]
        return "\n".join([*lines, *(_line(row.cells) for row in self.rows)]) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def flops(model: Model, gbs: int) -> float:
    """FLOP of one iteration: twice the multiply-accumulates, three or four times."""
    head = model.hidden // model.heads
    projections = (
        model.hidden * head * (model.heads + 2 * model.groups) + model.heads * head * model.hidden
    )
    scores = 2 * model.heads * head * model.seq_len * (0.5 if model.causal else 1)
    mlp = (3 if model.gated else 2) * model.hidden * model.ffn * model.experts
    tokens = gbs * model.seq_len
    layer = 2 * tokens * (projections + scores + mlp)
    logits = 2 * tokens * model.hidden * model.vocab
    # Megatron's equation 3 as coded counts the logits 3 times whatever the factor is of the layers.
    return model.factor * model.layers * layer + 3 * logits


def sweep(rng: Random, model: Model, machine: Machine, rows: int = 12) -> Sweep:
    """A correct table: topologies, step times with noise, TFLOPs from the exact times."""
    decimals = rng.choice(((1, 2), (2, 2), (1, 1), (2, 1), (0, 1)))
    time_unit = rng.choice(("s", "s", "ms"))
    found: list[Row] = []
    seen: set[tuple[int, ...]] = set()
    while len(found) < rows:
        tp = rng.choice([t for t in (1, 2, 4, 8) if t <= machine.per_node or machine.per_node == 1])
        pp = rng.choice([p for p in (1, 2, 4, 8) if model.layers % p == 0])
        dp = rng.choice((1, 2, 4, 8, 16))
        mbs = rng.choice((1, 2, 4))
        gbs = mbs * dp * rng.choice((16, 32, 64))
        world = dp * tp * pp
        key = (tp, pp, dp, mbs, gbs)
        if world % machine.per_node or key in seen:
            continue
        seen.add(key)
        m = gbs // (mbs * dp)
        speed = (
            machine.tflops
            * rng.uniform(0.97, 1.03)
            * m
            / (m + pp - 1)
            * (1 - 0.03 * (tp > 1))
            * mbs**0.05
        )
        time = flops(model, gbs) / (speed * world * 1e12)
        parameters = 12 * model.layers * model.hidden**2 / (tp * pp)
        memory = (
            parameters * (4 + 12 / dp)
            + 2e0 * model.seq_len * model.hidden * mbs * (model.layers / pp * min(m, pp) + 40)
        ) / 1e9 + 2
        if memory > machine.memory:
            continue
        shown = time * (1000 if time_unit == "ms" else 1)
        shown_decimals = 1 if time_unit == "ms" else max(decimals[0], 2 if time < 20 else 0)
        count = world if machine.unit == "GPUs" else world // machine.per_node
        cells = (
            str(count),
            model.label,
            str(dp),
            str(tp),
            str(pp),
            str(mbs),
            str(gbs),
            f"{memory:.1f}GB",
            f"{shown:.{shown_decimals}f}",
            f"{speed:.{decimals[1]}f}",
            "04-22",
        )
        found.append(Row(cells, world, gbs, time, speed))
    return Sweep(model, machine, found, decimals, time_unit)


def damage(rng: Random, made: Sweep, kind: str) -> Sweep:
    """One row damaged; `visible` says whether its numbers now contradict physics."""
    place = rng.randrange(len(made.rows))
    row = made.rows[place]
    other = made.rows[(place + 1) % len(made.rows)]
    changed, visible = _damaged(rng, made, row, other, kind)
    rows = [*made.rows[:place], changed, *made.rows[place + 1 :]]
    return replace(made, rows=rows, damaged=place, kind=kind, visible=visible)


def _damaged(rng: Random, made: Sweep, row: Row, other: Row, kind: str) -> tuple[Row, bool]:
    if kind == "swap":
        changed = row.put(time=row.cell("tflops"), tflops=row.cell("time"))
        return changed, _apart(made, row)
    if kind == "shift":
        cells = list(row.cells)
        at = COLUMNS.index("mem")
        return replace(row, cells=(*cells[:at], "-", *cells[at:-2], cells[-1])), True
    if kind in ("digit_time", "digit_tflops"):
        name = kind.removeprefix("digit_")
        text = _digit(rng, row.cell(name))
        return row.put(**{name: text}), _contradicts(made, row.put(**{name: text}))
    if kind == "unit_time":
        scale, unit = (1e3, "s") if made.time_unit == "ms" else (1e-3, "ms")
        value = float(row.cell("time"))
        text = f"{value}{unit}"
        return row.put(time=text), scale > 0
    if kind == "unit_memory":
        return row.put(mem=row.cell("mem").replace("GB", "MB")), True
    if kind == "gbs":
        gbs = row.gbs * rng.choice((2, 4)) if rng.random() < 0.5 else row.gbs + 32
        split = gbs % (int(row.cell("mbs")) * int(row.cell("dp"))) > 0
        changed = replace(row.put(gbs=str(gbs)), gbs=gbs)
        return changed, split or _contradicts(made, changed)
    if kind == "nodes":
        text = str(int(row.cell("nodes")) * 2)
        return row.put(nodes=text), True
    if kind == "topology":
        name = rng.choice(("dp", "tp", "pp"))
        return row.put(**{name: str(int(row.cell(name)) * 2)}), True
    if kind == "stale":
        changed = row.put(time=other.cell("time"))
        return changed, _contradicts(made, changed)
    value = row.tflops * (4 / 3 if made.model.factor == 3 else 3 / 4)
    return row.put(tflops=f"{value:.{made.decimals[1]}f}"), True


def _digit(rng: Random, text: str) -> str:
    places = [place for place, letter in enumerate(text) if letter.isdigit()]
    place = rng.choice(places)
    digit = rng.choice([d for d in "0123456789" if d != text[place] and (d != "0" or place)])
    return text[:place] + digit + text[place + 1 :]


def _half(text: str) -> float:
    return 0.5 * 10.0 ** -len(text.partition(".")[2])


def _contradicts(made: Sweep, row: Row) -> bool:
    """Whether no time that prints as shown gives TFLOPs that print as shown, rounded or cut off."""
    scale = 1e-3 if made.time_unit == "ms" else 1.0
    time, rate = float(row.cell("time")), float(row.cell("tflops"))
    work = flops(made.model, row.gbs) / row.world / 1e12
    half_t, half_f = _half(row.cell("time")), _half(row.cell("tflops"))
    if not made.model.stated:  # the work is known from the other rows only, to their digits
        half_f += 0.007 * rate
        half_t += 0.004 * time
    low = work / ((time + 2 * half_t) * scale)
    high = work / (max(time - half_t, 1e-9) * scale)
    return not (low <= rate + half_f and rate - half_f <= high)


def _apart(made: Sweep, row: Row) -> bool:
    """Whether time and TFLOPs of the table are of different size: their product never tells."""
    times = [float(one.cell("time")) for one in made.rows]
    rates = [float(one.cell("tflops")) for one in made.rows]
    time, rate = float(row.cell("time")), float(row.cell("tflops"))
    far = not min(rates) / 3 <= time <= max(rates) * 3
    return far or (not min(times) / 3 <= rate <= max(times) * 3 and False)
