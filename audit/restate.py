"""TFLOP/s and MFU of every run under one formula, and the formula of the printed value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..schema.errors import BenchError
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.hardware import device_of
from .formula_detection import detect, fits
from .formulas import (
    ONLY_PLAIN,
    compute,
    divisor,
    flops,
    function,
    padded,
    values_of,
    values_of_run,
)
from .input import Reading
from .load import load

MODEL, HARDWARE = "model", "hardware"
_OF_RUNS = ("F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F12", "F13")
_ON_HARDWARE = frozenset(("F1", "F2", "F3", "F4", "F6", "F9", "F12"))
_OF_LOGS = ("F2", "F7", "F8", "F3", "F9", "F12", "F13")
_CLOSE = 0.03  # for logs: median time and median rate need not come from one step
_QUERY = """SELECT c.*, t.value AS step_time_s, t.low AS step_time_low, t.high AS step_time_high,
        f.value AS tflops, f.scope AS tflops_scope, u.value AS mfu
    FROM configurations c
    LEFT JOIN measured t ON t.run_id = c.run_id AND t.metric = 'step_time_s' AND t.value > 0
    LEFT JOIN measured f ON f.run_id = c.run_id AND f.metric = 'tflops' AND f.value > 0
    LEFT JOIN measured u ON u.run_id = c.run_id AND u.metric = 'mfu'
    WHERE c.kind = 'measured' AND (c.status = 'ok' OR c.origin = 'log')
        AND coalesce(t.value, f.value) IS NOT NULL
    ORDER BY c.uri, c.line, c.run_id"""


@dataclass(frozen=True, slots=True)
class RestatedRun:
    """A run under one formula: TFLOP/s of a process, and the share of the device's peak.

    `printed_by` is the formula of the printed value; `why` is the reason for a missing value.
    """

    run_id: str
    printed: float | None
    printed_by: str
    formula: str
    value: float | None
    low: float | None
    high: float | None
    share: float | None
    why: str


def known(text: str) -> str:
    """`model`, `hardware` or the id of a formula; raises BenchError for anything else."""
    name = text.strip()
    if name.lower() in (MODEL, HARDWARE):
        return name.lower()
    if name.upper() in _OF_RUNS:
        return name.upper()
    raise BenchError(
        f"no formula {text!r} restates TFLOPs",
        why=f"formulas: {', '.join(_OF_RUNS)}; model is F7, else F5; hardware counts recompute",
        hint="--flops F8, --flops model or --flops hardware",
    )


def restate(warehouse: Warehouse, wanted: str) -> list[RestatedRun]:
    """Every measured run with a time or TFLOPs, ordered by source and line."""
    wanted = known(wanted)
    return restate_all(warehouse, [wanted])[wanted]


def restate_all(warehouse: Warehouse, wanted: Sequence[str]) -> dict[str, list[RestatedRun]]:
    """The same for several formulas; the formulas of the originals are detected once."""
    printed = dict(_printings(warehouse))
    rows = warehouse.dicts(_QUERY)
    return {
        one: [_restated(row, one, printed.get(row["run_id"])) for row in rows] for one in wanted
    }


@dataclass(frozen=True, slots=True)
class PrintedFormula:
    """How a row's TFLOPs were computed: its table's reading, the FLOP, and the divisor."""

    reading: Reading
    fits: bool
    flops: float | None
    divisor: int | None
    time: float | None = None  # s, of a row that states none

    def vocabulary(self, tp: int | None) -> int | None:
        """The vocabulary it assumes, padded in its way; None if it uses the stated one."""
        v = self.reading.vocab
        return v if v is None or self.reading.exact else padded(v, tp or 1)


def implied_times(warehouse: Warehouse, uris: Sequence[str]) -> dict[str, float]:
    """The step time in s implied by the printed TFLOPs of rows without a time whose table has a
    known formula, by run; of these sources alone."""
    times = {}
    for run, found in _printings(warehouse, uris):
        if found.time:
            times[run] = found.time
    return times


def _printings(
    warehouse: Warehouse, uris: Sequence[str] | None = None
) -> Iterator[tuple[str, PrintedFormula]]:
    """How the TFLOPs of rows were computed, by run."""
    for document in load(warehouse, uris).documents:
        detect(document)
        for table in document.tables:
            found = table.detected
            if found is None or not found.agree:
                continue
            for row in table.rows:
                by = found.reading
                total, each = flops(row, by, values_of(row)), divisor(row, by)
                time = None
                if total and each and row.tflops and row.tflops.value and not row.time:
                    time = total / 1e12 / each / row.tflops.value
                yield row.run_id, PrintedFormula(by, fits(row, by) is not False, total, each, time)


def _restated(row: Row, wanted: str, printing: PrintedFormula | None) -> RestatedRun:
    recompute = row["recompute"] or _implied(printing.reading if printing else None)
    if wanted == HARDWARE and recompute is None:
        why = _either_way(row, printing)
        return RestatedRun(row["run_id"], row["tflops"], _printed_by(row, printing), "", None, None,
                        None, None, why)  # fmt: skip
    return _by(row, _formula(row, wanted, recompute), printing, recompute)


def _by(
    row: Row, formula: str, printing: PrintedFormula | None, recompute: str | None
) -> RestatedRun:
    vocab = (
        printing.vocabulary(row["tp"])
        if printing and printing.fits and row["vocab_assumed"]
        else None
    )
    total, why = _flops(row, formula, recompute, vocab)
    world, time = row["world_size"], row["step_time_s"]
    value = low = high = None
    if total and not world:
        why = "no number of processes"
    elif total and time:
        value, low, high = (
            total / (each * world * 1e12) if each else None
            for each in (time, row["step_time_high"], row["step_time_low"])
        )
    elif total and row["tflops"] and printing and printing.flops and printing.divisor:
        # Both formulas are of the same step, so its time cancels.
        value = row["tflops"] * total / printing.flops * printing.divisor / world
        why = "no step time: from the printed TFLOPs"
    elif total:
        why = "no step time"
    return RestatedRun(
        row["run_id"], row["tflops"], _printed_by(row, printing), formula, value, low, high,
        _share(row, value), why,
    )  # fmt: skip


def _either_way(row: Row, printing: PrintedFormula | None) -> str:
    """Hardware FLOPs without recompute and with full recompute, as text."""
    both = [_by(row, _formula(row, HARDWARE, one), printing, one) for one in ("none", "full")]
    without, full = both
    if without.value is None or full.value is None:
        return "recompute is not stated"
    return (
        f"recompute is not stated: {without.value:.4g} without ({without.formula}), "
        f"{full.value:.4g} with full recompute ({full.formula})"
    )


def _implied(reading: Reading | None) -> str | None:
    """The recompute implied by the printed formula's factor, if none is stated."""
    if reading is None:
        return None
    factor = reading.factor or {"F4": 4, "F5": 3}.get(reading.formula, 0)
    return {4: "full", 3: "none"}.get(factor)


def _formula(row: Row, wanted: str, recompute: str | None) -> str:
    plain = row["layers"] is not None and row["hidden"] is not None and row["plain_mlp"]
    if wanted == MODEL:
        return "F7" if plain else "F8" if row["layers"] and row["hidden"] else "F5"
    if wanted == HARDWARE:
        if not plain:
            return {"full": "F4", "selective": "F9"}.get(recompute or "", "F5")
        return {"selective": "F9", "full": "F1"}.get(recompute or "", "F7")
    return wanted


def _flops(
    row: Row, formula: str, recompute: str | None, vocab: int | None = None
) -> tuple[float | None, str]:
    """FLOP of one step by a formula, or the reason for none."""
    if formula in ONLY_PLAIN and not row["plain_mlp"]:
        return None, f"{formula} holds for an MLP of 4h without gate only"
    if not row["dense"]:
        return None, "a mixture of experts: the experts a token takes are not stated"
    factor = {"full": 4, "none": 3}.get(recompute or "")
    values = values_of_run(row) | {"factor": factor} | ({"v": vocab} if vocab else {})
    total = compute(formula, values)
    if total is not None:
        return total, ""
    names, _ = function(formula)
    lacking = [_TITLES.get(name, name) for name in names if values.get(name) is None]
    return None, f"not stated: {', '.join(dict.fromkeys(lacking))}"


_TITLES = {
    "b": "batch size", "s": "sequence length", "l": "layers", "h": "hidden size",
    "params": "parameters", "tokens": "batch size or sequence length", "factor": "recompute",
    "a": "heads", "k": "hidden size", "ffn": "hidden size",
}  # fmt: skip


def _printed_by(row: Row, printing: PrintedFormula | None) -> str:
    if row["tflops"] is None:
        return "MFU as printed" if row["mfu"] is not None else ""
    if printing:
        by = printing.reading
        return by.long if printing.fits else f"not {by}, which the rows around follow"
    return _of_log(row) if row["origin"] == "log" else "not known"


def _of_log(row: Row) -> str:
    """The formula that a log's median rate is nearest to."""
    world, time, printed = row["world_size"], row["step_time_s"], row["tflops"]
    if not (world and time) or printed < 0.1:  # a rate of a digit or two implies nothing
        return "not known"
    off: dict[str, float] = {}
    for formula in _OF_LOGS:
        total, _ = _flops(row, formula, row["recompute"])
        if total:
            off[formula] = abs(total / 1e12 / time / world / printed - 1)
    best = min(off, key=lambda name: off[name], default="")
    return best if best and off[best] <= _CLOSE else "not known"


def _share(row: Row, value: float | None) -> float | None:
    """The share of the device's dense peak; None if device or number format is not stated."""
    device = device_of(row["device"]) if row["device"] else None
    peak = device.peak.get(row["dtype"] or "") if device else None
    if value is None or not device or not peak or not row["world_size"]:
        return None
    nodes = row["nodes"] if device.family == "A64FX" else None  # its node is one device
    many: int = nodes or row["devices"] or row["world_size"]
    return float(value * row["world_size"] / many / peak)


def is_hardware(formula: str) -> bool:
    """Whether a formula counts recomputed work: its share of the peak is HFU, else MFU."""
    return formula in _ON_HARDWARE
