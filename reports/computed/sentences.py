"""The sentences of computed reports: templates of plain text, one sentence a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2.runtime import Context

from ...audit.memory import FEWEST
from ...decide.factors import order
from ...decide.rows import Decision
from ...decide.spreads import clusters_text
from ...project.short_names import ShortNames
from ...vocabulary.format import FILTERS, counted, days_range, difference
from ...vocabulary.hardware import device_of
from .. import answer
from ..template_cache import Compiled
from ..words import apart_words, level_words, step_time, text_of

_NAMES = "names"  # in the context: the short names of the sources
_BREAK = "---"  # the line between the text above the table and the text below it
_OTHER_PEAK = 1.1  # times that a printed MFU is above the share of the peak, beyond rounding
_BLANKS = str.maketrans("\r\n", "  ")


def sentences(
    names: ShortNames, decision: Decision, more: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sentences above the table of a decision, and below; `more` rows are not shown."""
    context: Mapping[str, Any] = {
        "rows": decision.rows, "left_out": decision.left_out, "more": more, _NAMES: names,
        **decision.facts,
    }  # fmt: skip
    text = _environment().get_template(f"{decision.name}.md.j2").render(context)
    lines = [line.strip() for line in text.split("\n")]
    at = lines.index(_BREAK)
    return tuple(filter(None, lines[:at])), tuple(filter(None, lines[at + 1 :]))


def part_sentences(names: ShortNames, template: str, context: Mapping[str, Any]) -> list[str]:
    """The sentences of a part `_NAME.j2`, which pages add to their own."""
    text = _environment().get_template(template).render({**context, _NAMES: names})
    return [" ".join(line.split()) for line in text.split("\n") if line.strip()]


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__ or "bench.reports.computed", ""),
        undefined=jinja2.StrictUndefined,
        finalize=_one_line,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        bytecode_cache=Compiled(Path(__file__).parent.parent),
    )
    environment.filters |= FILTERS | {
        "counted": counted,
        "days_range": days_range,
        "difference": difference,
    }
    environment.filters |= {
        "place": _with_names(answer.place),
        "places": _with_names(answer.places),
        "repeats": _with_names(answer.repeats),
        "rivals": _with_names(answer.rivals),
        "apart": apart_words,
        "system": _with_names(ShortNames.system),
        "short": _with_names(ShortNames.short),
        "within": _with_names(ShortNames.within),
        "by_kind": _with_names(answer.by_kind),
        "by_frequency": _with_names(answer.by_frequency),
        "configuration": answer.configuration_words,
        "settings": answer.settings_words,
        "devices": answer.devices_words,
        "time": step_time,
        "clusters": clusters_text,
        "shares_of_peaks": _shares_of_peaks,
        "text": text_of,
        "labels": _labels,
        "level_words": level_words,
        "statuses": _statuses,
        "of_one_span": _of_one_span,
        "cut": _cut,
        "cut_sides": lambda change: " → ".join(map(_cut, change.split(" → ", 1))),
        "plain": lambda value: f"{value:.10g}",
        "price": lambda value: f"{value:.2f}" if round(value, 2) == value else f"{value:.10g}",
    }
    environment.globals["FEWEST"] = FEWEST
    return environment


def _one_line(value: object) -> object:
    """The value on one line: text of a source cannot begin another sentence."""
    return value.translate(_BLANKS) if isinstance(value, str) else value


def _with_names(function: Callable[..., Any]) -> Callable[..., Any]:
    @jinja2.pass_context
    def named(context: Context, value: Any, *more: Any) -> Any:
        return function(context[_NAMES], value, *more)

    return named


def _labels(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The sizes or labels of models, the smallest first."""
    found = {row["size"] or "models without a size" for row in rows}
    return sorted(found, key=order)


def _shares_of_peaks(rows: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    """A row of each peak that MFU is computed from, the number of rows with one, the number with an
    assumed number format, the rows with printed MFU, and the devices of which these print other
    shares than their TFLOPs are: name, dense peak, least and largest share."""
    # Filters of templates take ten times as long per row.
    shares = [row for row in rows if row["mfu"] is not None]
    known = [row for row in shares if row["mfu_from"] == "computed"]
    peaks = {str(row["peak_name"]).lower(): row for row in reversed(known)}
    guessed = sum(bool(row["peak_assumed"]) for row in known)
    printed = [row for row in shares if row["mfu_from"] == "printed"]
    return [*reversed(peaks.values())], len(known), guessed, printed, _other_peaks(printed)


def _other_peaks(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, float, float, float]]:
    found: dict[tuple[str, float], list[float]] = {}
    for row in rows:
        device = device_of(row["device"]) if row["device"] else None
        formats = (row["dtype"],) if row["dtype"] else ("bf16", "fp16")
        peak = max((device.peak.get(name, 0.0) for name in formats), default=0.0) if device else 0.0
        # TFLOPs with recompute are up to a third above those of MFU.
        if device and peak and row["tflops"] and row["mfu"] > _OTHER_PEAK * row["tflops"] / peak:
            found.setdefault((device.name, peak), []).append(row["tflops"] / peak)
    return [(*of, min(shares), max(shares)) for of, shares in found.items()]


def _of_one_span(curves: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The curves of the same sizes, model and system together, unless one needs a remark."""
    found: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for at, one in enumerate(curves):
        base = one["base"]
        remarked = at if one["above_all"] or len(one["days"]) > 1 else None
        key = (one["kind"], one["unit"], one["last_size"], one["base_size"], remarked)
        found.setdefault((*key, base["size"], base["model"], base["system"]), []).append(one)
    return list(found.values())


def _statuses(rows: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(dict.fromkeys(str(row["status"]) for row in rows))


def _cut(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
