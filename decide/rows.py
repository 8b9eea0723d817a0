"""Runs as rows for a decision, with what configures them; and what a decision comes to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import Any, cast

from ..audit.memory import GB
from ..schema.generated import expand
from ..schema.sql import named_statements
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.device_names import slice_of
from ..vocabulary.fields import compared, fields
from ..vocabulary.hardware import device_of, one_spelling
from ..vocabulary.job_variables import states
from .cost import powers
from .other_columns import other_columns
from .provenance import Column, Derivation, Derivations, devices_of

# What a configuration is, as columns; environment flags are compared one by one in addition.
CONFIGURATION = compared()
# Those that answers name among the settings, where they are not as most runs have them.
_UNSEEN = {one.name: one.neutral for one in fields().values() if one.among_settings}
_of_unseen, _NOTHING = itemgetter(*_UNSEEN), (None,) * len(_UNSEEN)
_columns = itemgetter(*CONFIGURATION)
_NAMES = [CONFIGURATION.index(name) for name in ("size", "model")]
NOT_STATED = "device not stated"
_FLAGS = """SELECT run_id, name, value, kind FROM env_flags
            SEMI JOIN {runs} USING (run_id) ORDER BY run_id, name"""
_FACTS = """SELECT field, value, list(DISTINCT run_id ORDER BY run_id) FROM facts
            WHERE scope NOT IN ('heading', 'step', 'record', 'flops_profiler') AND how = 'stated'
              AND value IS NOT NULL AND value NOT LIKE '%object at 0x%'
              AND run_id IN (SELECT run_id FROM {runs} WHERE origin = 'log')
            GROUP BY field, value ORDER BY field, value"""
# Where no batch can be worked out, that of a replica is what sets runs apart.
PER_REPLICA = "MBS x GA"  # the name of what this query finds
_OF_A_REPLICA = """SELECT run_id, coalesce(mbs, 1)::HUGEINT * grad_accum FROM {runs}
            WHERE grad_accum IS NOT NULL AND gbs IS NULL AND device_batch IS NULL AND dp IS NULL
              AND tokens_per_step IS NULL ORDER BY run_id"""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{1,16}(?=>)")  # of an object: another in each run
_VERSION = re.compile(r"\w+_(version|commit)")
# Arguments that name a place, a job or the length of a training, and do not affect its speed.
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
    for name in (
        field.name,
        *(argument for argument in field.arguments if isinstance(argument, str)),
    )
)
THREADS = "env OMP_NUM_THREADS"


@cache
def statements() -> dict[str, str]:
    """The statements of `rows.sql`, whose slots in braces are relations and conditions."""
    return named_statements(expand((files(__package__) / "rows.sql").read_text("utf-8")))


def worked_out(runs: str) -> str:
    """A query of the runs of a relation, with what decisions work out of their columns."""
    return statements()["worked_out"].replace("{runs}", runs)


def load(warehouse: Warehouse, runs: str = "selected", own: OwnSettings | None = None) -> list[Row]:
    """The runs of a relation, mostly the temporary table `selected`, each with its system, flags,
    versions, hosts, and the columns of its table that are settings unknown to us.

    Names of jobs and nodes are no part of a configuration. Jobs are compared by `pace`: less is
    better, within one `measure`. `rate` is tokens/s, sequences/s if a job states no sequence
    length, or TFLOP/s if it prints nothing else. `batch` are the sequences of a
    step, as stated or multiplied out. `own` are their settings and systems, perhaps among those of
    others, where these are read already.
    """
    own = own or read_own(warehouse, runs)
    query = statements()["load"].replace("{worked_out}", worked_out(runs))
    rows = warehouse.dicts(query)
    stated = powers(warehouse)
    for row in rows:
        run = row["run"]
        row |= own.of(run)
        if (kind := row["others"].get("recompute")) and row["recompute"] is None:
            # A kind that no formula knows, such as offload, is a value like others.
            row["recompute"] = kind
            row["others"] = {k: v for k, v in row["others"].items() if k != "recompute"}
        row["settings"] = _settings(row)
        row["memory_gb"] = gigabytes(row)
        row["power_stated_w"] = stated.get(run)
        row["derivations"] = _derivations(row, row["measure"])
    return cast("list[Row]", rows)


def name_systems(warehouse: Warehouse, runs: str) -> None:
    """Fill the temporary table `systems`: the machine of each device of some runs."""
    devices = [name for (name,) in warehouse.rows(f"SELECT DISTINCT device FROM {runs}") if name]
    query = """CREATE OR REPLACE TEMP TABLE systems AS
        SELECT unnest(?::VARCHAR[]) AS device, unnest(?::VARCHAR[]) AS system"""
    warehouse.rows(query, [devices, [*map(system_of, devices)]])


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """Settings of runs other than columns, by run and name."""

    env: dict[str, dict[str, str]]
    versions: dict[str, dict[str, str]]
    arguments: dict[str, dict[str, str]]
    others: dict[str, dict[str, str]]
    hosts: dict[str, str]

    def of(self, run: str) -> dict[str, Any]:
        """The columns of one run."""
        return {
            "env": self.env.get(run, _NONE),
            "versions": self.versions.get(run, _NONE),
            "arguments": self.arguments.get(run, _NONE),
            "others": self.others.get(run, _NONE),
            "hosts": self.hosts.get(run),
        }

    def keys(self) -> dict[str, str]:
        """A text by run id, equal for runs with the same settings."""
        kinds = (self.env, self.others, self.versions, self.arguments)
        runs = dict.fromkeys(run for kind in kinds for run in kind)
        return {run: repr([sorted(kind.get(run, _NONE).items()) for kind in kinds]) for run in runs}


_NONE: dict[str, str] = {}


def read_own(warehouse: Warehouse, runs: str) -> OwnSettings:
    """The flags, versions, arguments and unknown columns of the runs of a relation; their systems
    are in the temporary table `systems` from then on."""
    name_systems(warehouse, runs)
    found = OwnSettings({}, {}, {}, other_columns(warehouse, runs), {})
    for run, name, value, kind in warehouse.rows(_FLAGS.format(runs=runs)):
        text = "none" if value is None else "set" if kind == "launcher" and not value else value
        if states(name) == "hosts":
            found.hosts[run] = str(text)
        elif states(name) is None:
            found.env.setdefault(run, {})[name] = str(text)
    for run, sequences in warehouse.rows(_OF_A_REPLICA.format(runs=runs)):
        found.others[run] = {**found.others.get(run, _NONE), PER_REPLICA: str(sequences)}
    # By name and value, as most runs of a trainer print the same: hundreds each.
    for name, value, of in warehouse.rows(_FACTS.format(runs=runs)):
        if _VERSION.fullmatch(name):
            for run in of:
                found.versions.setdefault(run, {})[name] = str(value)
        elif name not in _IN_COLUMNS and not _ASIDE.fullmatch(name):
            # Lines of several processes run into each other: True.......
            text = _ADDRESS.sub("", str(value)).rstrip(".")
            for run in of:
                found.arguments.setdefault(run, {})[name] = text
    return found


def _derivations(row: Row, measure: str | None) -> Derivations:
    """How the columns that `load` adds to a run are made."""
    return _derivations_of(measure, row["memory_unit"], devices_of(row))


@cache
def _derivations_of(measure: str | None, memory_unit: str | None, many: str) -> Derivations:
    scale = GB.get(memory_unit or "")
    pace: dict[str, Derivation | Column] = {
        "tokens_per_s": Derivation(
            expression="1 / tokens_per_s", inputs=("tokens_per_s",), unit="s a token"
        ),
        "step_time_s": Column("step_time_s"),
        "samples_per_s": Derivation(
            expression="1 / samples_per_s", inputs=("samples_per_s",), unit="s a sequence"
        ),
        "tokens_per_s_per_device": Derivation(
            expression="1 / tokens_per_s_per_device",
            inputs=("tokens_per_s_per_device",),
            unit="s a token",
        ),
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


def batch_of(row: Row) -> float | None:
    """The sequences of a step: stated, tokens of a step / sequence length, MBS x GA x DP, or batch
    per device x GA x devices."""
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
    """The settings of a run as one text, with those that have no column in answers."""
    values = _of_unseen(row)
    if values == _NOTHING:
        return cast("str | None", row["settings"])
    # A default value would repeat in every row.
    named = zip(_UNSEEN.items(), values, strict=True)
    more = [f"{name}={value}" for (name, plain), value in named if value not in (None, plain)]
    return ", ".join([*([row["settings"]] if row["settings"] else []), *more]) or None


@cache
def system_of(device: str) -> str:
    """The machine that a device is of, in one spelling; of slices of TPUs their generation."""
    # v4-512 and 2x v4-1024 are one machine in two sizes, and sizes are what scaling compares.
    if part := slice_of(device):
        known = device_of(part[0])
        return known.family if known else part[0]
    return one_spelling(device)


def configuration(row: Row) -> dict[str, Any]:
    """The identity of a configuration: columns, `env NAME` for each flag, `column NAME` for each
    other column of its table.

    A model is its shape; its label counts where no shape is stated. Logs that state no device are
    taken to be of one machine; tables that state none, of one machine per document.
    """
    flags = {f"env {name}": value for name, value in row["env"].items()}
    others = {f"column {name}": value for name, value in row["others"].items()}
    return dict(zip(CONFIGURATION, configured(row), strict=True)) | flags | others


def configured(row: Row) -> tuple[Any, ...]:
    """The columns of a configuration, in their order."""
    values = _columns(row)
    # Labels round: one shape may be called 1.3B and 1.4B.
    if row["layers"] is None or row["hidden"] is None:
        return cast("tuple[Any, ...]", values)
    shaped = list(values)
    for at in _NAMES:
        shaped[at] = None
    return tuple(shaped)


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
    falls = threads == sorted(threads, reverse=True) and len({*threads}) > 1
    return frozenset((THREADS,)) if falls else frozenset()


def lacks_device_count(row: Row) -> bool:
    """Whether the devices or processes of a node are not stated for a row."""
    return bool(
        row["nodes"] and row["device_count"] in (row["nodes"], None) and row["devices"] is None
        and row["procs_per_node_stated"] is None and None in (row["dp"], row["tp"], row["pp"])
    )  # fmt: skip


def assumed_devices(rows: Sequence[Row]) -> list[bool]:
    """Where nothing states the devices of a node: whether one process a node is taken (True), or
    none can be counted (False); both, one or neither."""
    return sorted({row["device_count"] is not None for row in rows if lacks_device_count(row)})


def gigabytes(row: Row) -> float | None:
    """The printed memory in GB."""
    scale = GB.get(row["memory_unit"] or "")
    return None if row["memory"] is None or scale is None else row["memory"] * scale


@dataclass(frozen=True, slots=True)
class Decision:
    """The rows of an answer, best first, and those left out, each with its reason.

    `facts` are the inputs of the sentences of the report `name`: numbers, rows and names, no text.
    """

    name: str
    rows: tuple[Row, ...]
    left_out: tuple[Row, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
