"""Runs as rows for a decision, with what configures them; and what a decision comes to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from typing import Any

from ..audit.memory import GB
from ..ingest.environment import states
from ..schema.warehouse import Warehouse
from ..vocabulary.fields import compared, fields
from ..vocabulary.hardware import device_of
from ..vocabulary.slices import slice_of
from .cost import powers
from .other_columns import other_columns
from .provenance import Column, Derivation, Derivations, devices_of

Row = Mapping[str, Any]
# What a configuration is, as columns; environment flags are compared one by one in addition.
CONFIGURATION = compared()
# Those that answers name among the settings, where they are not as most runs have them.
_UNSEEN = {one.name: one.neutral for one in fields().values() if one.among_settings}
_columns = itemgetter(*CONFIGURATION)
NOT_STATED = "device not stated"
# `source`: the file that a record tells of, else the one that is read.
_QUERY = """
    WITH marks AS (
        SELECT run_id, max(value) AS source FROM facts
        WHERE scope = 'record' AND field = 'source' GROUP BY run_id
    ), sampled AS (
        SELECT DISTINCT run_id FROM measured
        WHERE metric IN ('samples_per_s', 'samples_per_s_per_device')
    ), formats AS (
        SELECT table_id, row_number,
            string_agg(lower(trim(raw)), ' ' ORDER BY column_number) AS text
        FROM cells WHERE name = 'dtype' GROUP BY ALL
    )
    SELECT s.* EXCLUDE (source_id, segment), f.text AS dtype_printed,
        s.run_id AS run, s.uri || ':' || s.line AS "where",
        coalesce(s.devices, s.world_size) AS device_count, coalesce(m.source, s.uri) AS source,
        p.run_id IS NOT NULL AS sampled
    FROM selected s LEFT JOIN marks m USING (run_id) LEFT JOIN sampled p USING (run_id)
    LEFT JOIN formats f ON f.table_id = s.table_id AND f.row_number = s.row_number
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
    r"|(?:lr|min_lr|train|consumed|eval|wandb|tensorboard)(?:_.*)?|\W.*|.* .*"
    # What bench launch and the environment of a job record: the job itself, and what it took.
    r"|plan|case|label|command|repeats?|attempt|wall_s|exit_code|left_behind|peak_memory_mb"
    r"|(?:job_)?state|load_average|allocator_seen|threads(?:_per_process)?",
    re.I,
)

# Sizes are compared as columns: as worked out, not once more as one trainer writes them.
_IN_COLUMNS = frozenset(
    name
    for field in fields().values()
    if field.configuration and field.role in ("topology", "batch")
    for name in (field.name, *(one for one in field.arguments if isinstance(one, str)))
)
THREADS = "env OMP_NUM_THREADS"


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
    for run, name, value in warehouse.rows(_FACTS):
        if _VERSION.fullmatch(name):
            versions.setdefault(run, {})[name] = str(value)
        elif name not in _IN_COLUMNS and not _ASIDE.fullmatch(name):
            # Lines of several processes run into each other: True.......
            arguments.setdefault(run, {})[name] = str(value).rstrip(".")
    others, stated = other_columns(warehouse), powers(warehouse)
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
            "power_stated_w": stated.get(row["run"]),
            "batch": batch_of(row),
            "steps_per_s": per_second(row),
            **(pace := _pace(row, batch_of(row))),
            "derivations": _derivations(row, pace["measure"]),
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


def _derivations(row: Row, measure: str | None) -> Derivations:
    """How the columns that `load` adds to a run are made."""
    return _made(measure, row["memory_unit"], devices_of(row))


@cache
def _made(measure: str | None, memory_unit: str | None, many: str) -> Derivations:
    scale = GB.get(memory_unit or "")
    pace: dict[str, Derivation | Column] = {
        "tokens_per_s": Derivation(
            expression="1 / tokens_per_s", inputs=("tokens_per_s",), unit="s a token"
        ),
        "step_time_s": Column("step_time_s"),
        "tflops": Derivation(
            expression=f"1 / (tflops x {many})", inputs=("tflops", many), unit="s a TFLOP"
        ),
    }
    found: dict[str, Derivation | Column] = {"pace": pace[measure]} if measure else {}
    if scale:
        found["memory_gb"] = (
            Column("memory")
            if scale == 1
            else Derivation(expression=f"memory x {scale:g}", inputs=("memory",), unit="GB")
        )
    return found


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
    # A setting as most have it would repeat in every row and tell nothing.
    unseen = {name: row[name] for name, plain in _UNSEEN.items() if row[name] not in (None, plain)}
    more = [f"{name}={value}" for name, value in unseen.items()]
    return ", ".join([*([row["settings"]] if row["settings"] else []), *more]) or None


def _system(row: Row) -> str:
    """What a run was on: its device, else its document. Logs that state none are of one machine.

    The size of a slice of TPUs is no part of it.
    """
    if row["device"]:
        return system_of(row["device"])
    return str(row["uri"] if row["origin"] == "row" else NOT_STATED)


@cache
def system_of(device: str) -> str:
    """The machine that a device is of: what it is called, of a slice of TPUs its generation."""
    # v4-512 and v4-1024 are one machine in two sizes, and sizes are what scaling compares.
    if part := slice_of(device):
        known = device_of(part[0])
        return known.family if known else part[0]
    return device


def configuration(row: Row) -> dict[str, Any]:
    """What tells one configuration from another: columns, `env NAME` for each flag, `column NAME`
    for each other column of its table.

    A model is its shape; its label counts where no shape is stated. Logs that state no device are
    taken to be of one machine, tables that state none of one a document.
    """
    flags = {f"env {name}": value for name, value in row["env"].items()}
    others = {f"column {name}": value for name, value in row["others"].items()}
    return dict(zip(CONFIGURATION, configured(row), strict=True)) | flags | others


def configured(row: Row) -> tuple[Any, ...]:
    """The columns of a configuration, in their order."""
    # Labels round: one shape may be called 1.3B and 1.4B.
    shaped = row["layers"] is not None and row["hidden"] is not None
    values: tuple[Any, ...] = _columns({**row, "size": None, "model": None} if shaped else row)
    return values


def follows_ranks(rows: Sequence[Row]) -> frozenset[str]:
    """OMP_NUM_THREADS, where launchers set it: fewer threads the more processes share a node, and
    one number for as many."""
    found: dict[float, set[str]] = {}
    for row in rows:
        if (threads := row["env"].get("OMP_NUM_THREADS", "")).isdigit() and row["world_size"]:
            found.setdefault(row["world_size"] / (row["nodes"] or 1), set()).add(threads)
    if len(found) < 2 or any(len(one) > 1 for one in found.values()):
        return frozenset()
    threads = [int(found[ranks].pop()) for ranks in sorted(found)]
    return frozenset((THREADS,)) if threads == sorted(threads, reverse=True) else frozenset()


def counts_nobody_stated(row: Row) -> bool:
    """Whether nothing states how many devices or processes the nodes of a row have."""
    return bool(
        row["nodes"] and row["device_count"] in (row["nodes"], None) and row["devices"] is None
        and row["procs_per_node_stated"] is None and None in (row["dp"], row["tp"], row["pp"])
    )  # fmt: skip


def assumed_devices(rows: Sequence[Row]) -> list[bool]:
    """Where nothing states the devices of a node: whether one process a node is taken (True), or
    none can be counted (False); both, one or neither."""
    return sorted({row["device_count"] is not None for row in rows if counts_nobody_stated(row)})


def gigabytes(row: Row) -> float | None:
    """The printed memory in GB."""
    scale = GB.get(row["memory_unit"] or "")
    return None if row["memory"] is None or scale is None else row["memory"] * scale


@dataclass(frozen=True, slots=True)
class Decision:
    """The rows of an answer, best first, and those left out, each with its reason.

    `facts` hold what the sentences of the report `name` need: numbers, rows and names, no text.
    """

    name: str
    rows: tuple[Row, ...]
    left_out: tuple[Row, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
