"""Correct rows damaged at random, many of them: what the audit sees, and whom it accuses wrongly.

`python -m tests.campaigns.audit --each 24 --seeds 4`
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.damage import DAMAGES, FALSE, RECALL, of_made_sweeps, of_published_documents

DOCUMENTS = Path(__file__).resolve().parents[2] / "data" / "tables"


def campaign(each: int, seeds: int) -> tuple[list[str], list[str]]:
    """What was damaged, a line for each kind; what was wrong. `each`: rows of documents damaged in
    each way, for each of so many seeds."""
    told, failures = [], []
    results = []
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as folder:
            whole = dict.fromkeys(DAMAGES, each)
            results.append(of_published_documents(DOCUMENTS, Path(folder), whole, seed))
    with tempfile.TemporaryDirectory() as folder:
        results.append(of_made_sweeps(Path(folder), range(seeds)))
    for tallies, wrong, rows in results:
        for kind, one in tallies.items():
            told.append(f"{kind}: {one.seen} of {one.visible} that physics can see")
            if one.seen < RECALL * one.visible:
                failures.append(told[-1])
        told.append(f"{wrong} false errors on {rows} rows")
        if wrong > FALSE * rows:
            failures.append(told[-1])
    return told, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    told, failures = campaign(given.each, given.seeds)
    print("\n".join(told))
    print("\n".join(failures) or "as many as demanded")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
