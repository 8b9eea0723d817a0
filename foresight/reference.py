"""docs/cost_model.md from terms.toml: `python -m bench.foresight.reference`."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .numbers import Number, numbers, priors

_HEAD = """# The numbers of the cost model

What `bench predict` computes with: the terms of a token's time and of a device's memory, the prior
of each term's parameter, and every constant of the machine or the model with its source. The
constants of the statistics are [in the code](#statistics). [predict.md](predict.md) says how they
are fitted. This page is made from the declarations of the model:
`python -m bench.foresight.reference > docs/cost_model.md`.
"""

# Without values, which would be a second place to keep right.
_STATISTICS = {
    "similarity.py": "how much alike runs share, tuned on some documents of benchmarks/predict.py; "
    "deviation of a system without a peak; how fast the similarity of sources falls with sizes and "
    "settings",
    "posterior.py": "rounds of a fit and their step, usual roughness, tails of the noise",
    "folds.py": "folds, and how far beyond the measured errors are known",
    "intervals.py": "level, weight of other sources, least factors, errors of unknown sources",
    "memory.py": "runs that a fit needs, deviation of the need of a run out of memory",
    "recompute.py": "memory of an unknown device; runs that may contradict what a source does not "
    "state, rounding",
    "proposals.py": "doubt about the deviations of few runs, worth of information next to gain",
    "planning.py": "what a run has to tell of another to be named",
    "assumptions.py": "chances of running out of memory that make another split worth naming",
    "failures.py": "how far TFLOP/s and time of a run may differ",
    "answers.py": "limits beyond which an answer is refused or left out",
    "predictor.py": "the same, in devices and runs",
    "refusals.py": "shapes that no model has",
    "sizes.py": "which sizes move first to what is possible",
}


def page() -> str:
    """The whole page."""
    return "\n".join((_HEAD, *_terms(), *_numbers(), *_statistics())) + "\n"


def _statistics() -> Iterator[str]:
    yield "\n## Statistics\n"
    yield "These constants say how errors are counted, or when an answer is refused, not how a"
    yield "machine works. No paper has them: they stand in the code, beside what uses them.\n"
    yield "| module of foresight | constants |"
    yield "| :-- | :-- |"
    yield from (f"| `{module}` | {words} |" for module, words in _STATISTICS.items())


def _terms() -> Iterator[str]:
    yield "A parameter multiplies its amount. Of a parameter `2 x 1.4^±1`, two thirds are expected"
    yield "within a factor of 1.4 of 2.\n"
    for law, title in (
        ("pace", "Time: device-seconds a token"),
        ("memory", "Memory: GB of a device"),
    ):
        yield f"## {title}\n\n| term | amount | parameter | why |\n| :-- | :-- | :-- | :-- |"
        waiting = priors("waiting").values() if law == "pace" else ()
        for one in (*priors(law).values(), *waiting):
            prior = f"{one.usual:g} x {math.exp(one.spread):.2g}^±1"
            yield f"| {one.title} | {one.amount} | {prior} | {one.prior} |"
        yield ""
    yield "## Factors\n"
    yield "Matrix products are slower by exp(parameter x share), with a parameter about 0.\n"
    yield "| factor | share | deviation |\n| :-- | :-- | --: |"
    for one in priors("shape").values():
        yield f"| {one.title} | {one.amount} | {one.spread:g} |"
    yield ""


def _numbers() -> Iterator[str]:
    yield "## Constants\n"
    yield "| name | value | meaning | basis | source |\n| :-- | --: | :-- | :-- | :-- |"
    for name, one in numbers().items():
        value = f"{one.value:g} {one.unit}"
        yield f"| `{name}` | {value} | {one.meaning} | {one.basis} | {_source(one)} |"


def _source(one: Number) -> str:
    return f"[{one.source}]({one.url})" if one.url else one.source


if __name__ == "__main__":
    print(page(), end="")
