"""Runs as rows for a decision: which count, which are left out and why, what configures them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..audit.memory import GB
from ..audit.run import audit
from ..ingest.environment import states
from ..ingest.slices import slice_of
from ..reports.other_columns import other_columns
from ..schema.hardware import device_of
from ..schema.warehouse import Warehouse

Row = Mapping[str, Any]
# What a configuration is, as columns; environment flags are compared one by one beside them.
CONFIGURATION = (
    "size", "model", "system", "framework", "nodes", "devices", "world_size", "dp", "dp_replicate",
    "dp_shard", "tp", "pp", "cp", "ep", "vpp", "mbs", "device_batch", "gbs", "seq_len",
    "zero_stage", "sequence_parallel", "recompute", "procs_per_node", "dtype", "async_launch",
    "layers", "hidden", "heads", "kv_heads", "ffn_hidden", "swiglu", "experts",
)  # fmt: skip
# Those without a column of their own in answers, and the value that needs no word.
_UNSEEN: Mapping[str, object] = {
    "async_launch": None, "sequence_parallel": False, "ep": 1, "vpp": 1, "dp_replicate": 1,
}  # fmt: skip
NOT_STATED = "device not stated"
_COPY_OF = re.compile(r"same configuration and digits as (\S.*?:\d+)(?:;|$)")
# `source`: the file that a record tells of, else the one that is read.
_QUERY = """
    WITH marks AS (
        SELECT run_id, max(value) AS source FROM facts
        WHERE scope = 'record' AND field = 'source' GROUP BY run_id
    ), sampled AS (
        SELECT DISTINCT run_id FROM measured
        WHERE metric IN ('samples_per_s', 'samples_per_s_per_device')
    )
    SELECT s.* EXCLUDE (source_id, segment), s.run_id AS run, s.uri || ':' || s.line AS "where",
        coalesce(s.devices, s.world_size) AS device_count, coalesce(m.source, s.uri) AS source,
        p.run_id IS NOT NULL AS sampled
    FROM selected s LEFT JOIN marks m USING (run_id) LEFT JOIN sampled p USING (run_id)
    ORDER BY s.uri, s.line, s.run_id"""
_FLAGS = "SELECT run_id, name, value, kind FROM env_flags ORDER BY run_id, name"
_FACTS = """SELECT DISTINCT run_id, field, value FROM facts
            WHERE scope NOT IN ('heading', 'step', 'record') AND how = 'stated'
              AND value IS NOT NULL AND value NOT LIKE '%object at 0x%'
              AND run_id IN (SELECT run_id FROM selected WHERE origin = 'log')
            ORDER BY run_id, field, value"""
_VERSION = re.compile(r"\w+_(version|commit)")
# Arguments that name a place, a job or the length of a training, and say nothing of its speed.
_ASIDE = re.compile(
    r"(?:.*_)?(?:dir|paths?|file|folder|names?|seed|port|addr|hosts?|save|load|log|logging|date|time"
    r"|id|ranks?|iters|iterations|samples|tokens|interval|exit|entity|project|prefix"
    r"|monitor)(?:_.*)?"
    r"|(?:lr|min_lr|train|consumed|eval|wandb|tensorboard)(?:_.*)?|\W.*|.* .*",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Rows:
    """Runs that may be ranked and compared, and the others, each with `left_out`."""

    kept: tuple[Row, ...]
    left_out: tuple[Row, ...]


def load(warehouse: Warehouse) -> list[Row]:
    """The runs of the temporary table `selected`, each with its system, flags, versions, hosts,
    and the columns of its table that are settings unknown to us.

    What names a job or its nodes tells no configuration. `pace` is what jobs are compared by: less
    is better, of one `measure` alone. `rate` is tokens/s, the sequences/s of a job that states no
    sequence length, or the TFLOP/s of one that prints those alone. `batch` are the sequences of a
    step, as stated or multiplied out.
    """
    env: dict[str, dict[str, str]] = {}
    hosts: dict[str, str] = {}
    versions: dict[str, dict[str, str]] = {}
    arguments: dict[str, dict[str, str]] = {}
    for run, name, value, kind in warehouse.rows(_FLAGS):
        said = "none" if value is None else "set" if kind == "launcher" and not value else value
        if states(name) == "hosts":
            hosts[run] = str(said)
        elif states(name) is None:
            env.setdefault(run, {})[name] = str(said)
    for run, field, value in warehouse.rows(_FACTS):
        if _VERSION.fullmatch(field):
            versions.setdefault(run, {})[field] = str(value)
        elif not _ASIDE.fullmatch(field):
            # Lines of several processes run into each other: True.......
            arguments.setdefault(run, {})[field] = str(value).rstrip(".")
    others = other_columns(warehouse)
    return [
        {
            **row,
            "settings": _settings(row),
            "others": others.get(row["run"], {}),
            "system": _system(row),
            "env": env.get(row["run"], {}),
            "hosts": hosts.get(row["run"]),
            "versions": versions.get(row["run"], {}),
            "arguments": arguments.get(row["run"], {}),
            "memory_gb": gigabytes(row),
            "batch": batch_of(row),
            "steps_per_s": per_second(row),
            **_pace(row, batch_of(row)),
        }
        for row in map(_with_dp_of_devices, warehouse.dicts(_QUERY))
    ]


def per_second(row: Row) -> float | None:
    """Steps a second: from the step time, else from tokens/s at a known batch."""
    if row["step_time_s"]:
        return 1 / float(row["step_time_s"])
    known = row["tokens_per_s"] and row["tokens_per_step"]
    return row["tokens_per_s"] / float(row["tokens_per_step"]) if known else None


def _pace(row: Row, batch: float | None) -> dict[str, Any]:
    """Seconds a token, else a step, else a TFLOP of a job that prints TFLOPs alone; and which."""
    if row["tokens_per_s"]:
        rate, measure = row["tokens_per_s"], "tokens_per_s"
    elif row["step_time_s"]:
        rate = batch / row["step_time_s"] if batch else None
        return {"pace": row["step_time_s"], "rate": rate, "measure": "step_time_s"}
    elif row["tflops"] and row["device_count"]:
        rate, measure = row["tflops"] * row["device_count"], "tflops"
    else:
        return {"pace": None, "rate": None, "measure": None}
    return {"pace": 1 / rate, "rate": rate, "measure": measure}


def with_dp(row: Row) -> Row:
    """A run with its data parallel size, which is what TP, PP and CP leave of the processes."""
    if row["dp"] is not None or not (row["world_size"] and row["tp"] and row["pp"]):
        return row
    dp, rest = divmod(row["world_size"], row["tp"] * row["pp"] * (row["cp"] or 1))
    return row if rest else {**row, "dp": dp}


def _with_dp_of_devices(row: Row) -> Row:
    """As `with_dp`, where the devices are no guess."""
    return with_dp(row) if row["devices"] else row


def batch_of(row: Row) -> float | None:
    """The sequences of a step: stated, as the tokens of a step tell them, MBS x GA x DP, or a batch
    a device x GA x devices."""
    accumulated = row["grad_accum"]
    if row["gbs"] is not None:
        return float(row["gbs"])
    if row["tokens_per_step"] and row["seq_len"]:
        return float(row["tokens_per_step"] / row["seq_len"])
    if row["mbs"] and accumulated and row["dp"]:
        return float(row["mbs"] * accumulated * row["dp"])
    if row["device_batch"] and row["device_count"]:
        return float(row["device_batch"] * (accumulated or 1) * row["device_count"])
    return None


def _settings(row: Row) -> str | None:
    """The settings of a run as one text, with what has no column of its own in answers."""
    unseen = {name: row[name] for name, plain in _UNSEEN.items() if row[name] not in (None, plain)}
    told = [f"{name}={value}" for name, value in unseen.items()]
    return ", ".join([*([row["settings"]] if row["settings"] else []), *told]) or None


def _system(row: Row) -> str:
    """What a run was on: its device, else its document. Logs that state none are of one machine.

    The size of a slice of TPUs is no part of it.
    """
    if row["device"] and (part := slice_of(row["device"])):
        known = device_of(part[0])
        return known.family if known else part[0]
    return str(row["device"] or (row["uri"] if row["origin"] == "row" else NOT_STATED))


def doubts(warehouse: Warehouse, uris: Sequence[str]) -> dict[str, str]:
    """What the audit of sources says against runs: an error by run id. Of a row printed twice,
    the copy."""
    found: dict[str, str] = {}
    for finding in audit(warehouse, uris):
        if finding.severity != "error" or finding.closed:
            continue
        cells = finding.cells[1:] if finding.rules == ("R6",) else finding.cells
        for cell in cells:
            if cell.run_id is not None:
                found.setdefault(cell.run_id, f"doubted ({finding.rule}): {finding.message}")
    return found


def sorted_out(rows: Sequence[Row], doubted: Mapping[str, str], need: str) -> Rows:
    """The rows whose column `need` counts, and the others with the reason."""
    here = {row["where"] for row in rows}
    kept: list[Row] = []
    left: list[Row] = []
    for row in rows:
        reason = _reason(row, doubted, need, here)
        (left if reason else kept).append({**row, "left_out": reason})
    return Rows(tuple(kept), tuple(left))


def configuration(row: Row) -> dict[str, Any]:
    """What tells one configuration from another: columns, `env NAME` for each flag, `column NAME`
    for each other column of its table.

    A model is its shape; its label counts where no shape is stated. Logs that state no device are
    taken to be of one machine, tables that state none of one a document.
    """
    flags = {f"env {name}": value for name, value in row["env"].items()}
    others = {f"column {name}": value for name, value in row["others"].items()}
    shaped = row["layers"] is not None and row["hidden"] is not None
    label = {"size": None, "model": None} if shaped else {}
    return {name: row[name] for name in CONFIGURATION} | label | flags | others


def assumed_words(rows: Sequence[Row]) -> tuple[str, ...]:
    """Where nothing tells the devices of a node: one process a node is taken, or none can be."""
    blind = [
        row
        for row in rows
        if row["nodes"] and row["device_count"] in (row["nodes"], None) and row["devices"] is None
        and row["procs_per_node_stated"] is None and None in (row["dp"], row["tp"], row["pp"])
    ]  # fmt: skip
    known = {row["device_count"] is not None for row in blind}
    taken = {
        True: "one process a node is taken, in all that counts devices",
        False: "TP x PP of a row does not fit on one process a node, so devices are not counted",
    }
    return tuple(
        f"Nothing states the devices of a node: {taken[one]} (--set procs_per_node=8 tells it)."
        for one in sorted(known)
    )


def gigabytes(row: Row) -> float | None:
    """The printed memory in GB."""
    scale = GB.get(row["memory_unit"] or "")
    return None if row["memory"] is None or scale is None else row["memory"] * scale


def _reason(row: Row, doubted: Mapping[str, str], need: str, here: set[str]) -> str | None:
    """Why a row does not count: what happened to the run, what is wrong with it, what it lacks."""
    if row["kind"] != "measured":
        return f"{row['kind']}, not measured"
    if row["origin"] == "quote":
        return "a log line quoted in a document"
    if row["status"] not in ("ok", "running") and not row["usable"]:
        told = row["status_reason"]
        plain = row["status"].replace("_", " ")
        return plain if not told or told.casefold() == plain else f"{plain}: {told}"
    if row["run"] in doubted:
        return doubted[row["run"]]
    if row["left_out"] and (reason := _damage(row, here)):
        return reason
    return None if row[need] is not None else _lacks(row, need)


def _lacks(row: Row, need: str) -> str:
    """What would have to be stated for the column that is needed."""
    if need in ("tokens_per_s", "rate"):
        parts = [("seq_len", "sequence length")] if row["step_time_s"] or row["sampled"] else []
        slots = row["mbs"] and row["grad_accum"] and row["dp"]
        if row["step_time_s"] and not (row["sampled"] or slots or row["device_batch"]):
            parts = [("gbs", "global batch size"), *parts]
        lacking = [(name, words) for name, words in parts if row[name] is None]
        if lacking:
            told = " and ".join(f"no {words}" for _, words in lacking)
            sets = ",".join(f"{name}=..." for name, _ in lacking)
            return f"no tokens/s: {told} is stated (--set {sets} tells it)"
    named = {
        "pace": "step time",
        "steps_per_s": "step time",
        "tokens_per_s": "tokens/s",
        "rate": "tokens/s",
        "tflops": "TFLOPs",
    }
    return f"no {named.get(need, need)} is known"


def _damage(row: Row, here: set[str]) -> str | None:
    """What the warehouse says against a row; a copy counts where the first one is not asked for."""
    detail = row["left_out_detail"] or ""
    if row["left_out"] != "copy":
        return f"{row['left_out']}: {detail}"
    original = _COPY_OF.search(detail)
    return f"copy of {original[1]}" if original and original[1] in here else None
