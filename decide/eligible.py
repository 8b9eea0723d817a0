"""Which of the runs that a question is about count, and why the others are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ..audit.finding import Finding
from ..audit.store import open_errors
from ..schema.errors import NOTHING_RECOGNISED, BenchError
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.format import counted
from .query import Query
from .rows import OwnSettings, load, read_own, statements, system_of, worked_out
from .selection import select_of_every
from .spreads import Spread, spreads

_NEAR = "(FROM every SEMI JOIN near USING (run_id))"
_COPY_OF = re.compile(r"same configuration and digits as (\S.*?:\d+)(?:;|$)")


@dataclass(frozen=True, slots=True)
class Rows:
    """Runs that may be ranked and compared, and the others, each with `left_out`."""

    kept: tuple[Row, ...]
    left_out: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The selected runs, with the doubts and spreads of the whole warehouse."""

    rows: list[Row]
    doubted: dict[str, str]
    spreads: dict[str, Spread]

    def eligible(self, need: str) -> Rows:
        """The runs that count for what needs a column, and the others."""
        return eligible(self.rows, self.doubted, need)


def candidates(warehouse: Warehouse, query: Query) -> Candidates:
    """The selected runs; raises BenchError if there are none."""
    select_of_every(warehouse, query)
    doubted = doubts_near(warehouse)
    own = read_own(warehouse, _NEAR)  # and so of the selected runs, too
    rows = load(warehouse, own=own)
    if not rows:
        raise _nothing(warehouse)
    return Candidates(rows, doubted, spreads(repeats(warehouse, doubted, own)))


def _nothing(warehouse: Warehouse) -> BenchError:
    [(every,)] = warehouse.rows("SELECT count(*) FROM every")
    if every:
        return BenchError(
            "no run fits the filters", why=f"none of {counted(every, 'run')} does",
            hint="bench runs lists them; --where, --model and --table select them",
        )  # fmt: skip
    error = BenchError(
        "no runs found", why="no row and no log of one was read",
        hint="bench ingest PATH, or name logs and tables",
    )  # fmt: skip
    error.exit_code = NOTHING_RECOGNISED
    return error


def doubts_near(warehouse: Warehouse) -> dict[str, str]:
    """The findings of the audit against the runs of `near`, a temporary table that is filled with
    those of `selected` and those of `every` that show how much their jobs vary."""
    devices = [name for (name,) in warehouse.rows("SELECT DISTINCT device FROM every") if name]
    requested = {
        system_of(name)
        for (name,) in warehouse.rows("SELECT DISTINCT device FROM selected")
        if name is not None
    }
    machines = [name for name in devices if system_of(name) in requested]
    warehouse.rows(statements()["near"], {"machines": machines})
    uris = "SELECT DISTINCT uri FROM every SEMI JOIN near USING (run_id) ORDER BY uri"
    return doubts(warehouse, [uri for (uri,) in warehouse.rows(uris)])


def repeats(warehouse: Warehouse, doubted: Mapping[str, str], own: OwnSettings) -> list[Row]:
    """The sound runs of `near` that repeat a configuration; `alike` is equal for its runs."""
    fill(warehouse, "settings_key", own.keys())
    fill(warehouse, "doubted", doubted)
    made = statements()
    sound = made["sound"].replace("{worked_out}", worked_out(_NEAR)).replace("{here}", _NEAR)
    query = made["repeats"].replace("{sound}", sound).replace("{identity}", made["identity"])
    return cast("list[Row]", warehouse.dicts(query))


def fill(warehouse: Warehouse, table: str, texts: Mapping[str, str]) -> None:
    """Fill a temporary table with texts by run id, in a column of its name."""
    query = f"""CREATE OR REPLACE TEMP TABLE {table} AS
        SELECT unnest(?::VARCHAR[]) AS run_id, unnest(?::VARCHAR[]) AS {table}"""
    warehouse.rows(query, [[*texts], [*texts.values()]])


def doubts(warehouse: Warehouse, uris: Sequence[str]) -> dict[str, str]:
    """The findings of the audit against runs of these sources: an error by run id."""
    return doubts_of(open_errors(warehouse, uris))


def doubts_of(errors: Iterable[Finding]) -> dict[str, str]:
    """The runs that errors doubt, by run id. Of a row printed twice, the copy."""
    found: dict[str, str] = {}
    for finding in errors:
        # The first of two equal rows was measured; doubting both would lose the number.
        cells = finding.cells[1:] if finding.rules == ("R6",) else finding.cells
        for cell in cells:
            if cell.run_id is not None:
                found.setdefault(cell.run_id, f"doubted ({finding.rule}): {finding.message}")
    return found


def eligible(rows: Sequence[Row], doubted: Mapping[str, str], need: str) -> Rows:
    """The rows whose column `need` counts, and the others with the reason."""
    here = {row["where"] for row in rows}
    kept: list[Row] = []
    left: list[Row] = []
    for row in rows:
        reason = _reason(row, doubted, need, here)
        judged = row if reason == row["left_out"] else {**row, "left_out": reason}
        (left if reason else kept).append(judged)
    return Rows(tuple(kept), tuple(left))


def _reason(row: Row, doubted: Mapping[str, str], need: str, here: set[str]) -> str | None:
    """Why a row is left out: the status of the run, an error in it, or a missing value."""
    if row["kind"] != "measured":
        return f"{row['kind']}, not measured"
    if row["origin"] == "quote":
        return "a log line quoted in a document"
    if row["status"] not in ("ok", "ended", "running") and not row["usable"]:
        reason = row["status_reason"]
        plain = row["status"].replace("_", " ")
        return plain if not reason or reason.casefold() == plain else f"{plain}: {reason}"
    # Before what the row lacks: a shifted cell is why it lacks something.
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
            missing = " and ".join(f"no {words}" for _, words in lacking)
            sets = ",".join(f"{name}=..." for name, _ in lacking)
            if row["of_unknown_scope"]:
                return f"tokens/s of the job or of a device, not stated which (--set {sets})"
            return f"no tokens/s: {missing} is stated (--set {sets})"
        if row["of_unknown_scope"]:
            return "tokens/s of the job or of a device, not stated which"
    if need == "mfu":
        return "no MFU: the device, its peak or the model's size is not known"
    named = {
        "pace": "step time",
        "steps_per_s": "step time",
        "tokens_per_s": "tokens/s of the job",
        "rate": "tokens/s of the job",
        "tokens_per_s_per_device": "tokens/s of a device",
        "samples_per_s": "samples/s",
        "tflops": "TFLOPs",
    }
    return f"no {named.get(need, need)} is known"


def _damage(row: Row, here: set[str]) -> str | None:
    """Why the warehouse leaves a row out; a copy counts if its original is not selected."""
    detail = row["left_out_detail"] or ""
    if row["left_out"] != "copy":
        return f"{row['left_out']}: {detail}"
    original = _COPY_OF.search(detail)
    return f"copy of {original[1]}" if original and original[1] in here else None
