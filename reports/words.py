"""What a page says in words: budgets, devices, settings, and rows without a result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .budget import Budget
from .escape import markdown_text
from .format import number, significant, tokens
from .layout import Markdown
from .short import Names

Row = Mapping[str, Any]


def budget_words(names: Names, plan: Budget) -> Markdown:
    """Who said what the budget is."""
    if plan.origin == "stated" and plan.uri:
        return Markdown(f"stated in {markdown_text(names.short(plan.uri))} l.{plan.line}")
    if plan.origin == "default":
        stated = ", ".join(
            f"{tokens(one.tokens or 0)} in {markdown_text(names.short(one.uri or ''))} l.{one.line}"
            for one in plan.others
        )
        why = f"the sources do not agree: {stated}" if stated else "no source here states one"
        return Markdown(f"{why}: the plan of 362k steps; `--steps` or `--tokens` change it")
    return Markdown(f"`{plan.origin}`")


def boundary_note(names: Names, rows: Sequence[Row]) -> Markdown:
    """Changes after which numbers do not compare, each with what the source says of it."""
    told = [
        f"{markdown_text(names.short(row['uri']))} {markdown_text(row['epoch'])}: "
        f'"{markdown_text(row["boundary"].strip())}"'
        for row in rows
        if row["epoch"].startswith("since ")
    ]
    return Markdown(
        f"Rows before and since a boundary do not compare: {'; '.join(told)}" if told else ""
    )


def device_note(names: Names, rows: Sequence[Row]) -> Markdown:
    """What a device is in these rows."""
    processes = sorted({names.short(row["uri"]) for row in rows if row["devices"] is None})
    if not processes:
        return Markdown("Device = GPU or accelerator, as the source counts them.")
    listed = ", ".join(markdown_text(name) for name in processes)
    return Markdown(
        f"Device = one process in {listed}, which state no devices; GPU or accelerator elsewhere."
    )


def no_results(rows: Sequence[Row]) -> Markdown:
    """Rows without a result, by reason: first cell, topology and line of each."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        reason = "" if row["status"] == "not_run" else row["status_reason"] or ""
        groups.setdefault((row["status"], reason), []).append(_empty_row(row))
    parts = []
    for (status, reason), listed in groups.items():
        told = (
            status if reason.casefold() in ("", status) else f"{status} ({markdown_text(reason)})"
        )
        parts.append(f"{'not measured' if status == 'not_run' else told}: {'; '.join(listed)}")
    return Markdown(". ".join(parts))


def step_time(row: Row) -> str:
    """A step time with the digits that were printed; of a log four digits."""
    low, high = row["step_time_low"], row["step_time_high"]
    if row["basis"] != "cell" or low is None or not high > low:
        return significant(row["step_time_s"], 4)
    return number(row["step_time_s"], max(0, round(-math.log10(high - low))))


def speed_words(row: Row) -> Markdown:
    """A step time with its unit; the tokens a second where only a rate is stated."""
    if row["step_time_s"] is None:
        return Markdown(f"{significant(row['tokens_per_s'], 4)} tokens/s")
    return Markdown(f"{step_time(row)} s/it{' ^' if row['time_is_marked'] else ''}")


def topology_words(row: Row) -> Markdown:
    """DP8 x TP4 x PP12, micro batch 2."""
    parts = [
        f"{name.upper()}{row[name]}"
        for name in ("dp", "tp", "pp", "cp")
        if row.get(name) is not None
    ]
    batch = f", MBS {row['mbs']}" if row.get("mbs") is not None else ""
    return Markdown((" x ".join(parts) or "topology not stated") + batch)


def topology_short(row: Row) -> str:
    """8/4/12, with what is not stated as a dash; context parallelism behind it."""
    parts = [text_of(row[name]) or "-" for name in ("dp", "tp", "pp")]
    return "/".join(parts) if set(parts) != {"-"} else ""


def recompute_words(row: Row) -> Markdown:
    """How the run recomputes activations."""
    words = {"none": "no recompute", "selective": "selective recompute", "full": "full recompute"}
    return Markdown(words.get(row["recompute"] or "", "recompute not stated"))


def text_of(value: object) -> str:
    """A value as it is written; nothing for what is not stated."""
    return "" if value is None else str(value)


def _empty_row(row: Row) -> str:
    first = markdown_text(row["cells"][0]["raw"]) if row["cells"] else ""
    split = topology_short(row)
    batch = f" MBS {row['mbs']}" if row["mbs"] is not None else ""
    warn = " ⚠" if row["left_out"] else ""
    return f"{first}{f', {split}' if split else ''}{batch} l.{row['line']}{warn}"
