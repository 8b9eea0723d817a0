"""What users may tell of a run: columns of the schema, each with its type, unit and meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from .errors import BenchError, did_you_mean
from .sql import sql_files

_TABLE = re.compile(r"^CREATE TABLE raw\.(?:runs|topology) \((.*?)^\);", re.M | re.S)
_COLUMN = re.compile(r"^ +(\w+) (\w+)[^\n]*?-- (.+)$", re.M)
_ADDED = re.compile(r"^ALTER TABLE raw\.(?:runs|topology) ADD COLUMN (\w+) (\w+); -- (.+)$", re.M)
# What a source is and how a run of it went: nothing that a person can know better than the source.
_OURS = frozenset({
    "load_id", "source_id", "run_id", "origin", "table_id", "row_number", "line", "last_line",
    "segment", "status", "status_reason", "status_line", "kind", "flags", "job_ids", "notes",
    "vocab_label",
})  # fmt: skip
_WORDS = {
    "dtype": {"fp32": "float32 float", "fp16": "float16 half", "bf16": "bfloat16", "fp8": ""},
    "recompute": {"none": "no off", "selective": "", "full": "yes on"},
}
# How frameworks and schedulers call what has another name here.
_ALSO = {
    "world_size": "ranks", "num_gpus": "devices", "gpus": "devices", "ngpus": "devices",
    "gpu": "device", "accelerator": "device", "num_nodes": "nodes", "nnodes": "nodes",
    "gpus_per_node": "devices_per_node", "nproc_per_node": "procs_per_node",
    "tasks_per_node": "procs_per_node", "ntasks_per_node": "procs_per_node",
    "micro_batch_size": "mbs", "global_batch_size": "gbs", "batch_size": "gbs",
    "seq_length": "seq_len", "sequence_length": "seq_len", "hidden_size": "hidden",
    "num_layers": "layers", "num_attention_heads": "heads", "vocab_size": "vocab",
    "precision": "dtype", "size": "model", "params": "params_b", "parameters": "params_b",
    "gas": "grad_accum", "zero": "zero_stage", "mp": "tp", "checkpointing": "recompute",
    "per_device_batch_size": "device_batch",
    "activation_checkpointing": "recompute", "tensor_parallel": "tp", "pipeline_parallel": "pp",
    "data_parallel": "dp", "context_parallel": "cp", "expert_parallel": "ep",
}  # fmt: skip
_SUFFIXES = {"": 0, "M": 6, "B": 9, "T": 12}
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Tellable:
    """A column that users may tell: its SQL type, and what it holds with its unit."""

    name: str
    type: str
    holds: str


@cache
def tellable() -> Mapping[str, Tellable]:
    """Every column that users may tell, in the order of the schema."""
    text = "".join(text for _, text in sql_files("tables"))
    found = [column for body in _TABLE.findall(text) for column in _COLUMN.findall(body)]
    found += _ADDED.findall(text)
    return {name: Tellable(name, kind, holds) for name, kind, holds in found if name not in _OURS}


def parse_told(field: str, text: str, where: str = "") -> str:
    """The value of a column as it is stored: checked, typed, as text.

    Raises BenchError for a column that nobody may tell, and for a value that does not fit it.
    """
    column = tellable().get(field)
    if column is None:
        raise unknown_field(field, where)
    value = text.strip()
    made = _WRITERS.get(column.type, _word)(column, value) if 0 < len(value) <= _LONGEST else None
    if made is None:
        why = f"{field} is {_KINDS.get(column.type, 'a text')}: {column.holds}"
        hint = f"{field}={_example(column)}"
        raise BenchError(f"{field} cannot be {text!r}", why=why, where=where, hint=hint)
    return made


def unknown_field(field: str, where: str = "") -> BenchError:
    """The error for a name that is no column, with the one that may be meant."""
    plain = field.strip().casefold().replace("-", "_")
    meant = _ALSO.get(plain)
    known = list(tellable())
    hint = f"did you mean {meant!r}?" if meant else did_you_mean(plain, known)
    return BenchError(f"no column {field!r} that can be told", where=where, hint=hint)


def _example(column: Tellable) -> str:
    words = _WORDS.get(column.name)
    if words:
        return "|".join(words)
    return {"BOOLEAN": "yes", "DOUBLE": "1.3", "VARCHAR": "TEXT"}.get(column.type, "64")


def _whole(column: Tellable, text: str) -> str | None:
    """A whole number above zero, 1_024 and 1,024 alike; a stage of ZeRO is 0 to 3."""
    bare = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", text)
    found = re.fullmatch(r"(\d{1,18}(?:\.\d{1,12})?)([MBT]?)", bare)
    value = Decimal(found[1]).scaleb(_SUFFIXES[found[2]]) if found else Decimal(-1)
    if value != int(value) or (found and found[2] and column.name != "params_stated"):
        return None
    least, most = (0, 3) if column.name == "zero_stage" else (1, 2**31 - 1)
    if column.type == "BIGINT":
        most = 2**63 - 1
    return str(int(value)) if least <= value <= most else None


def _number(column: Tellable, text: str) -> str | None:
    """A number above zero; of parameters in 1e9, with or without the letter for its size."""
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,12})?)\s*([MBT]?)", text)
    if not found:
        return None
    value = Decimal(found[1]).scaleb(_SUFFIXES[found[2] or "B"] - 9)
    return f"{value.normalize():f}" if value > 0 else None


def _truth(column: Tellable, text: str) -> str | None:
    words = {"yes": "true", "true": "true", "on": "true", "1": "true",
             "no": "false", "false": "false", "off": "false", "0": "false"}  # fmt: skip
    return words.get(text.casefold())


def _word(column: Tellable, text: str) -> str | None:
    """A text; of a column with words of its own one of them, whatever it is called elsewhere."""
    words = _WORDS.get(column.name)
    if words is None:
        return text if text.isprintable() else None
    low = text.casefold().removeprefix("torch.")
    return next((name for name, also in words.items() if low in (name, *also.split())), None)


_KINDS = {
    "INTEGER": "a whole number",
    "BIGINT": "a whole number",
    "DOUBLE": "a number",
    "BOOLEAN": "yes or no",
}
_WRITERS: dict[str, Callable[[Tellable, str], str | None]] = {
    "INTEGER": _whole,
    "BIGINT": _whole,
    "DOUBLE": _number,
    "BOOLEAN": _truth,
}


def same(field: str, stated: str, told: str) -> bool:
    """Whether a source and a user say the same of a column: 1 and 1.0, A64FX and `A64FX 2.2GHz`."""
    one, other = stated.strip().casefold(), told.strip().casefold()
    if one == other:
        return True
    if tellable()[field].type in ("INTEGER", "BIGINT", "DOUBLE"):
        try:
            return Decimal(one) == Decimal(other)
        except ArithmeticError:
            return False
    return field in ("device", "framework", "model") and (one in other or other in one)
