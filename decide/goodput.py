"""Goodput: the share of a job's time spent in training, if a log prints clock times."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from ..schema.warehouse import Warehouse
from ..vocabulary.format import counted

LEAST_S, LEAST_STEPS = 600.0, 20  # of a log: a shorter one is mostly start-up


@dataclass(frozen=True, slots=True)
class Goodput:
    """The share of the time that trains, and how it is known."""

    share: float
    known: str


def measured(warehouse: Warehouse) -> dict[str, Goodput]:
    """The goodput by uri of each log of the temporary table `selected` whose lines bear times, of
    more than LEAST_S and LEAST_STEPS."""
    query = (files(__package__ or "bench.decide") / "goodput.sql").read_text("utf-8")
    goodputs: dict[str, Goodput] = {}
    # Trained is steps times their median: slow steps are time lost, too.
    for uri, steps, trained, spent, restarts, saves, evaluations in warehouse.rows(query):
        # Clocks of two nodes may disagree, so that more was trained than passed.
        if spent is None or spent < LEAST_S or steps < LEAST_STEPS or not 0 < trained <= spent:
            continue
        counts = ((restarts, "restart"), (saves, "save"), (evaluations, "evaluation"))
        what = [counted(n, word) for n, word in counts if n]
        basis = f"measured in {spent / 3600:.2g} h" + (f" ({', '.join(what)})" if what else "")
        goodputs[uri] = Goodput(trained / spent, basis)
    return goodputs
