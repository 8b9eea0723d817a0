"""Growing logs: the parts stored of them, and the checkpoints of their readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .ledger import Ledger, LedgerEntry
from .rows import content_id
from .spill import Spill
from .warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a log's reader: the byte after the last whole line, and its variables."""

    offset: int
    state: bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """The newest part of a growing log: its place in the chain, its checkpoint."""

    chain_id: str
    number: int
    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class Part:
    """The rows read of a log after `after`, or from its first line, that will not change."""

    checkpoint: Checkpoint
    after: Stored | None = None
    rows: Spill = field(default_factory=Spill)


def read_stored(warehouse: Warehouse, load_ids: Sequence[str]) -> dict[str, Stored]:
    """The stored parts from which readers can continue, by load."""
    query = """SELECT load_id, chain_id, number, to_byte, state FROM raw.parts
               JOIN raw.checkpoints USING (load_id) WHERE load_id IN (SELECT unnest(?))"""
    return {
        load_id: Stored(chain_id, number, Checkpoint(offset, state))
        for load_id, chain_id, number, offset, state in warehouse.rows(query, [list(load_ids)])
    }


def store_part(warehouse: Warehouse, ledger: Ledger, plan: LedgerEntry, part: Part) -> str:
    """Record a part of the load `plan`, not yet in the ledger; returns the id for its rows."""
    part_id = content_id("part", plan.load_id)
    after = part.after
    chain_id, number = (after.chain_id, after.number + 1) if after else (plan.load_id, 1)
    before = after.checkpoint.offset if after else 0
    row = [plan.load_id, chain_id, number, part_id, before, part.checkpoint.offset]
    warehouse.con.execute("INSERT INTO raw.parts VALUES (?, ?, ?, ?, ?, ?)", row)
    # A checkpoint may be 16 MiB, and only the newest is used; unless another name shows it.
    newest = ledger.newest(plan.uri)
    if newest is not None and not ledger.shows_elsewhere(newest):
        warehouse.con.execute("DELETE FROM raw.checkpoints WHERE load_id = ?", [newest.load_id])
    checkpoint = [plan.load_id, part.checkpoint.state]
    warehouse.con.execute("INSERT INTO raw.checkpoints VALUES (?, ?)", checkpoint)
    return part_id
