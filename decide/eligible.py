"""Which of the runs that a question is about count, and why the others are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..audit.finding import Finding
from ..audit.store import open_errors
from ..schema.errors import NOTHING_RECOGNISED, BenchError
from ..schema.warehouse import Warehouse
from ..vocabulary.format import counted
from .jobs import Spread, spreads
from .query import Query
from .rows import CONFIGURATION, Row, load, system_of
from .selection import narrow, select

# Who differ in a column of these are no repeats of each other: all but those worked out later.
_WORKED_OUT = {"system", "dp", "size", "model"}
_ALIKE = ", ".join(name for name in CONFIGURATION if name not in _WORKED_OUT)
# A group by its keys alone: a window would carry all columns of all runs along.
_REPEATS = f"""
    INSERT INTO selected
    SELECT e.* FROM every e
    WHERE run_id NOT IN (SELECT run_id FROM asked) AND run_id IN (
        SELECT unnest(list(run_id)) FROM every
        WHERE (origin = 'row' AND uri IN (SELECT uri FROM asked))
           OR (coalesce(size, '') IN (SELECT coalesce(size, '') FROM asked)
               AND (list_contains(?::VARCHAR[], device) OR (device IS NULL AND origin <> 'row')))
        GROUP BY CASE WHEN origin = 'row' THEN uri END, {_ALIKE} HAVING count(*) > 1)"""
_COPY_OF = re.compile(r"same configuration and digits as (\S.*?:\d+)(?:;|$)")


@dataclass(frozen=True, slots=True)
class Rows:
    """Runs that may be ranked and compared, and the others, each with `left_out`."""

    kept: tuple[Row, ...]
    left_out: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The runs asked for, and what the whole warehouse knows of doubts and spread."""

    rows: list[Row]
    doubted: dict[str, str]
    spreads: dict[str, Spread]

    def eligible(self, need: str) -> Rows:
        """The runs that count for what needs a column, and the others."""
        return eligible(self.rows, self.doubted, need)


def candidates(warehouse: Warehouse, query: Query) -> Candidates:
    """The runs asked for; raises BenchError when there are none."""
    select(warehouse, Query())
    [(every,)] = warehouse.rows("SELECT count(*) FROM selected")
    if not every:
        error = BenchError(
            "no runs found", why="what was read holds no row and no log of one",
            hint="bench ingest PATH, or name logs and tables",
        )  # fmt: skip
        error.exit_code = NOTHING_RECOGNISED
        raise error
    warehouse.rows("CREATE OR REPLACE TEMP TABLE every AS FROM selected")
    narrow(warehouse, query)
    near = with_repeats(warehouse)
    wanted = {run for (run,) in warehouse.rows("SELECT run_id FROM selected")}
    rows = [row for row in near if row["run"] in wanted]
    if not rows:
        raise BenchError(
            "no run fits the filters", why=f"none of {counted(every, 'run')} does",
            hint="bench runs lists them; --where, --model and --table say which count",
        )  # fmt: skip
    doubted = doubts(warehouse, sorted({row["uri"] for row in near}))
    known = spreads(eligible(near, doubted, "pace").kept)
    return Candidates(rows, doubted, known)


def with_repeats(warehouse: Warehouse) -> list[Row]:
    """The runs of `selected`, and those of `every` that tell how much jobs of theirs may vary: of
    the same documents, or of the same sizes on the same machines, where something is repeated."""
    warehouse.rows("CREATE OR REPLACE TEMP TABLE asked AS FROM selected")
    devices = [name for (name,) in warehouse.rows("SELECT DISTINCT device FROM every")]
    asked = {
        system_of(name)
        for (name,) in warehouse.rows("SELECT DISTINCT device FROM asked")
        if name is not None
    }
    machines = [name for name in devices if name is not None and system_of(name) in asked]
    warehouse.rows(_REPEATS, [machines])
    rows = load(warehouse)
    warehouse.rows("CREATE OR REPLACE TEMP TABLE selected AS FROM asked")
    warehouse.rows("DROP TABLE asked")
    warehouse.rows("DROP TABLE every")
    return rows


def doubts(warehouse: Warehouse, uris: Sequence[str]) -> dict[str, str]:
    """What the audit of sources says against runs: an error by run id."""
    return doubts_of(open_errors(warehouse, uris))


def doubts_of(errors: Iterable[Finding]) -> dict[str, str]:
    """What errors say against runs, by run id. Of a row printed twice, the copy."""
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
        (left if reason else kept).append({**row, "left_out": reason})
    return Rows(tuple(kept), tuple(left))


def _reason(row: Row, doubted: Mapping[str, str], need: str, here: set[str]) -> str | None:
    """Why a row does not count: what happened to the run, what is wrong with it, what it lacks."""
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
            return f"no tokens/s: {missing} is stated (--set {sets} tells it)"
    if need == "mfu":
        return "no MFU: the device, its peak or the model's size is not known"
    named = {
        "pace": "step time",
        "steps_per_s": "step time",
        "tokens_per_s": "tokens/s of the job",
        "rate": "tokens/s of the job",
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
