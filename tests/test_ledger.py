"""The ledger: what it answers does not depend on how it is searched, or how much of it is read."""

from __future__ import annotations

import random

import pytest

from bench.schema import ledger as module
from bench.schema.ledger import Ledger, LedgerEntry, read_ledger, read_ledger_of
from bench.schema.opening import in_memory
from bench.schema.store import _note_loads

NAMES = [f"{folder}/{name}.log" for folder in ("a", "b") for name in "cdefg"]
BYTES = [f"{number:064x}" for number in range(6)]


def grown(seed: int, ledger: Ledger) -> list[LedgerEntry]:
    """Random loads of few names and few bytes, as `store` notes them."""
    rng = random.Random(seed)
    made = []
    for _ in range(60):
        plan = ledger.plan(rng.choice(NAMES), rng.choice(BYTES), rng.choice((1, 2)), 5)
        if plan is not None:
            made += ledger.note(plan)
    return made


def answers(ledger: Ledger) -> list[object]:
    return [
        *(ledger.plan(name, sha256, 2) for name in NAMES for sha256 in BYTES),
        *(ledger.newest(name) for name in NAMES),
        *(ledger.of_folder(folder) for folder in ("a", "b", "c")),
        *(ledger.shows_elsewhere(one) for name in NAMES if (one := ledger.newest(name))),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_lookups_with_and_without_an_index_agree(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for scans in (0, 3, 10_000):
        monkeypatch.setattr(module, "_SCANS", scans)
        ledger = Ledger()
        found.append([grown(seed, ledger), answers(ledger)])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("seed", range(3))
def test_the_ledger_of_some_plans_plans_them_as_the_whole_one(seed: int) -> None:
    with in_memory() as warehouse:
        _note_loads(warehouse.con, grown(seed, Ledger()))
        for name in NAMES:
            for sha256 in (*BYTES[:2], "f" * 64):
                for asked in (1, 2):
                    whole = read_ledger(warehouse)
                    plan = whole.plan(name, sha256, asked, 7)
                    if plan is None:
                        continue
                    part = read_ledger_of(warehouse, [plan])
                    assert part.plan(name, sha256, asked, 7) == plan
                    assert part.has_load(plan.load_id) == whole.has_load(plan.load_id)
                    assert sorted(part.note(plan)) == sorted(whole.note(plan))
