"""Errors of predictions for held-out runs of published sweeps, compared with two simple rules.

    python benchmarks/predict.py [FOLDER...] [--unseen FOLDER...]

Reads the tables below the folders (default: data/tables), holds out configurations, node counts and
documents, fits to the rest and compares. A configuration is held out with 5% of all, a node count
with all above it, a document as a whole. `nearest`: the FLOP/s of the most similar measured run;
`FLOPs`: the median FLOP/s of the system. Results are separate for documents used for tuning the
model, for others, and for folders unseen during its development.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measured import ROOT

from bench.decide.eligible import candidates
from bench.decide.jobs import by_configuration
from bench.decide.query import Query
from bench.foresight.failures import lacking
from bench.foresight.folds import ExtrapolationKind, Fold, folds, reach
from bench.foresight.intervals import IntervalWidths
from bench.foresight.posterior import fit
from bench.foresight.recompute import unstated
from bench.foresight.setting import Setting, setting
from bench.foresight.similarity import PACE_SCALES, places
from bench.foresight.terms import PACE
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from bench.schema.warehouse import Row

PARTS = 20
TUNED = (
    "000_",
    "001_",
    "002_",
    "InternLM-InternEvo",
    "auroraGPT",
    "argonne",
    "foundation-model-stack-fms-fsdp",
)
SWEEPS = ("002_", "003_", "004_")
LEFT_OUT = (
    ("a configuration", ExtrapolationKind.SETTING, "at most 5%"),
    ("a node count, with all above it", ExtrapolationKind.SIZE, "at most 12%"),
    ("a model, between smaller and larger ones", ExtrapolationKind.MODEL, "none stated"),
    (
        "values of TP, PP, a batch or a sequence, with all above",
        ExtrapolationKind.RANGE,
        "none stated",
    ),
    ("a document, its system known", ExtrapolationKind.SOURCE, "at most 15%"),
)
MOST = 40  # folds of a kind without a target


class HeldOutError(NamedTuple):
    """Relative errors for a held-out run, and whether its interval covers it."""

    document: str
    model: float
    nearest: float
    flops: float
    covered: bool
    width: float


def rows_of(folders: Sequence[Path]) -> list[Row]:
    """The runs of tables that can train."""
    warehouse = in_memory()
    for folder in folders:  # a row in two folders is a copy in the later one
        ingest_into(warehouse, [folder], ROOT)
    rows = by_configuration(candidates(warehouse, Query()).eligible("pace").kept)
    return [row for row in rows if not lacking(row)]


def settings_of(folders: Sequence[Path]) -> list[Setting]:
    """The same as the model reads them."""
    read = [one for row in rows_of(folders) if (one := setting(row))]
    silent = unstated(read)
    return [silent.settled(one) for one in read]


def parts(settings: Sequence[Setting], beyond: ExtrapolationKind) -> list[Fold]:
    """The held-out parts."""
    if beyond is not ExtrapolationKind.SETTING:
        return folds(settings, beyond, MOST)
    groups = list(dict.fromkeys(one.group for one in settings))  # a set's order differs by run
    random.Random(1).shuffle(groups)
    part = {group: at % PARTS for at, group in enumerate(groups)}
    found = defaultdict(list)
    for at, one in enumerate(settings):
        found[part[one.group]].append(at)
    return [Fold(tuple(at), tuple(at)) for at in found.values()]


def misses(
    settings: Sequence[Setting], beyond: ExtrapolationKind, of: frozenset[str] | None = None
) -> Iterator[HeldOutError]:
    """The errors for every run whose system has other runs; `of`: only for these documents."""
    for fold in parts(settings, beyond):
        gone = set(fold.removed)
        kept = [one for at, one in enumerate(settings) if at not in gone]
        known = {one.system for one in kept}
        tested = [settings[at] for at in fold.tested if settings[at].system in known]
        tested = [one for one in tested if of is None or Path(one.source[0]).name in of]
        if not tested:
            continue
        paces = [float(one.s_per_token or 0) for one in kept]
        fitted = fit(PACE, kept, paces, [one.noise for one in kept], PACE_SCALES)
        mean, covariance = fitted.predicted(tested)
        widths = IntervalWidths(fitted)
        for one, middle, variance in zip(tested, mean, np.diag(covariance), strict=True):
            # As it would be asked: it may also lie beyond sizes that others have.
            width = widths.width(reach(kept, one), one.source[0], float(variance), one.system)
            same = [run for run in kept if run.system == one.system]
            rate = statistics.median(run.flops / float(run.s_per_token or 1) for run in same)
            like = nearest(one, same)
            pace = float(one.s_per_token or 0)
            yield HeldOutError(
                Path(one.source[0]).name,
                abs(float(np.exp(middle)) / pace - 1),
                abs(float(like.s_per_token or 0) * one.flops / like.flops / pace - 1),
                abs(one.flops / rate / pace - 1),
                bool(abs(middle - np.log(pace)) <= width),
                float(width),
            )


def nearest(one: Setting, runs: Sequence[Setting]) -> Setting:
    """The run with the fewest doublings and differing settings from another."""
    apart = np.abs(places(runs) - places([one])).sum(1)
    for at, run in enumerate(runs):
        apart[at] += (run.model != one.model) + 0.5 * (run.source != one.source)
        apart[at] += 0.5 * len(set(run.other_settings.items()) ^ set(one.other_settings.items()))
    return runs[int(np.argmin(apart))]


def line(name: str, found: Sequence[HeldOutError]) -> str:
    """One row of the table."""
    model, like, flops = (
        statistics.median(getattr(miss, name) for miss in found)
        for name in ("model", "nearest", "flops")
    )
    covered = statistics.mean(miss.covered for miss in found)
    each = statistics.mean(
        statistics.mean(run.covered for run in of) for of in documents(found).values()
    )
    width = statistics.median(miss.width for miss in found)
    return (f"| {name} | {len(found)} | {model:.1%} | {like:.1%} | {flops:.1%} | {covered:.2f} |"
            f" {each:.2f} | ±{width:.1%} |")  # fmt: skip


HEAD = (
    "| runs of | number | model | nearest | FLOPs | covered | by document | interval |\n"
    "| :-- | --: | --: | --: | --: | --: | --: | --: |"
)


def main(folders: Sequence[Path], unseen: Sequence[Path] = ()) -> None:
    """Print a table for each kind of held-out part, then one for each folder of unseen documents,
    each of which is read beside the known ones and without the other folders."""
    settings = settings_of(folders)
    print(f"{len(settings)} configurations of {len({one.source[0] for one in settings})} documents")
    for name, beyond, target in LEFT_OUT:
        found = list(misses(settings, beyond))
        if not found:
            continue
        print(f"\n{name} left out, target {target} and 0.85 to 0.97\n\n{HEAD}")
        groups = {
            "all": found,
            "002, 003, 004": [one for one in found if one.document.startswith(SWEEPS)],
            "tuned on": [one for one in found if one.document.startswith(TUNED)],
            "not tuned on": [one for one in found if not one.document.startswith(TUNED)],
        }
        show(groups | documents(found))
    for folder in unseen:
        both = settings_of([*folders, folder])
        strange = frozenset(path.name for path in folder.rglob("*"))
        for name, beyond, _ in (LEFT_OUT[0], LEFT_OUT[-1]):
            found = list(misses(both, beyond, strange))
            print(f"\n{name} left out, of {folder.name}\n\n{HEAD}")
            show({"all": found} | documents(found))
    print(f"\n{time.process_time():.0f} s of processor time")


def documents(found: Sequence[HeldOutError]) -> dict[str, list[HeldOutError]]:
    """The runs of each document."""
    names = sorted({miss.document for miss in found})
    return {name: [miss for miss in found if miss.document == name] for name in names}


def show(groups: Mapping[str, Sequence[HeldOutError]]) -> None:
    """Print a row for each group with runs."""
    for group, of in groups.items():
        if of:
            print(line(group[:60], of), flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    at = words.index("--unseen") if "--unseen" in words else len(words)
    known = [Path(word) for word in words[:at]] or [ROOT / "data" / "tables"]
    main(known, [Path(word) for word in words[at + 1 :]])
