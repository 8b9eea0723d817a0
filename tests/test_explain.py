"""Where numbers come from: every number of every page is explained, down to a line of a source."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import cast

import pytest

from bench.audit.formulas import function
from bench.decide.lookup import source_named
from bench.decide.query import Query
from bench.explain.columns import derive
from bench.explain.context import ExplainContext, explain_context
from bench.explain.number import PrintedNumber, parse_number
from bench.explain.tree import Node
from bench.schema.opening import open_read
from bench.schema.warehouse import Warehouse
from bench.vocabulary.format import days, range_text, significant
from tests.explaining import matches
from tests.pages import page, tables

PAGES = {None: (), "1.3B": ("--all",), "0.85M": ()}
TEXT = re.compile(
    r"`[^`]*`|[\w./-]*\.(?:md|log)\b|\b[0-9a-f]{12}\b"
    r"|\b\w[\w.-]*:\d+|\blines? \d+(?:, \d+)*|bench \d[\w.]*|SHA-256"
)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?:[KMBT]\b|%)?")


@pytest.fixture(scope="module")
def warehouse(swept: Path) -> Iterator[Warehouse]:
    with open_read(swept / "bench.duckdb") as opened:
        yield opened


@cache
def asked(swept: Path, model: str | None, *more: str) -> str:
    return page(swept, *(("--model", model) if model else ()), *more)


def numbers_of(text: str, names: set[str]) -> set[str]:
    """Every number of a page that is no name of a source, no digest and no line's number."""
    return {found.rstrip(",") for found in NUMBER.findall(TEXT.sub(" ", text))} - names


@pytest.mark.slow
@pytest.mark.parametrize("model", PAGES)
def test_every_number_of_every_page_is_explained(
    swept: Path, warehouse: Warehouse, model: str | None
) -> None:
    here = explain_context(warehouse, swept, Query(model=model))
    names = {"000", "001", "002", "003", "004"}
    seen = 0
    for text in sorted(numbers_of(asked(swept, model, *PAGES[model]), names)):
        found = parse_number(text)
        assert found is not None, text
        first = next(matches(here, found, model), None)
        assert first is not None, f"{text} of the page of {model} is not explained"
        seen += 1
    assert seen > 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "more"),
    [
        ("1.3B", ("--flops", "hardware")),
        ("1.3B", ("--suggestions",)),
        (None, ("--document", "002", "--flops", "F8")),
        (None, ("--document", "004", "--flops", "model")),
    ],
)
def test_every_number_of_the_other_pages_is_explained(
    swept: Path, warehouse: Warehouse, model: str | None, more: tuple[str, ...]
) -> None:
    document = more[1] if "--document" in more else None
    here = explain_context(warehouse, swept, Query(model=model, document=document))
    names = {"000", "001", "002", "003", "004"}
    new = numbers_of(asked(swept, model, *more), names)
    new -= numbers_of(asked(swept, model, *PAGES[model]), names)  # explained above
    numbers = {text: cast(PrintedNumber, parse_number(text)) for text in sorted(new)}
    lost = [text for text, one in numbers.items() if next(matches(here, one, model), None) is None]
    assert new and lost == []


def rows_with(text: str, heading: str) -> Iterator[dict[str, str]]:
    for rows in tables(text):
        if rows and heading in rows[0]:
            yield from rows


def tree(here: ExplainContext, place: str, metric: str) -> Node:
    name, line = place.split(":")
    uri = source_named(here.warehouse, name)
    [run] = here.runs("uri = ? AND line = ?", uri, int(line))
    return derive(run, here.budget_of(run.row), metric)


def rests_on_sources(node: Node) -> bool:
    """Whether every leaf has a line, or says what is assumed in its stead."""
    return all(one.place or one.note for one in node.walk() if not one.inputs)


def plain(cell: str) -> str:
    return cell.strip("*^ ⚠")


def test_the_days_of_a_page_are_those_of_their_trees(swept: Path, warehouse: Warehouse) -> None:
    here = explain_context(warehouse, swept)
    seen = 0
    for row in rows_with(asked(swept, "1.3B", "--all"), "Device-days"):
        place = row["Source"].partition(",")[0]  # the first of rows that print alike
        if "+" in place:
            continue  # the median of several jobs: tests/test_explain_decisions.py
        seen += 1
        found = tree(here, place, "days")
        assert isinstance(found.value, float) and rests_on_sources(found)
        assert days(found.value) == plain(row["Days per 100B tokens"])
        if row["Range"]:
            assert range_text(found.low, found.high, "days") == plain(row["Range"])
        speed = tree(here, place, "tokens_per_s_per_device")
        assert isinstance(speed.value, float)
        assert significant(speed.value, 4) == plain(row["Tokens/s/device"])
        whole = tree(here, place, "device_days")
        assert isinstance(whole.value, float)
        assert significant(whole.value, 3) == plain(row["Device-days"])
    assert seen >= 20


def test_computed_cells_of_sweeps_are_those_of_their_trees(
    swept: Path, warehouse: Warehouse
) -> None:
    here = explain_context(warehouse, swept)
    seen = 0
    for part in re.split(r"^## Sweep, ", asked(swept, None, "--all"), flags=re.M)[1:]:
        name = part.split()[0]
        for row in rows_with(part.split("\n## ")[0], "Model TFLOP/s/process"):
            if shown := plain(row["Model TFLOP/s/process"]):
                found = tree(here, f"{name}:{plain(row['Line'])}", "model_tflops")
                assert isinstance(found.value, float) and rests_on_sources(found)
                assert significant(found.value, 3) == shown
                seen += 1
    assert seen > 100


def test_statistics_tell_window_and_lines(swept: Path, warehouse: Warehouse) -> None:
    here = explain_context(warehouse, swept)
    for row in rows_with(asked(swept, None), "Sec/it, median"):
        if "fugaku" not in row["Run"]:
            continue
        found = tree(here, row["Run"], "step_time_s")
        assert isinstance(found.value, float) and found.how
        assert significant(found.value, 4) == row["Sec/it, median"]
        window, n = row["Iterations"].split(", ", 1)
        assert f"iterations {window}" in found.how.expression and n in found.how.expression
        used = [one.value for one in found.inputs if one.note == "in the window"]
        assert len(used) == int(re.findall(r"n = (\d+)", n)[0])
        middle = sorted(used)[1:3]  # type: ignore[type-var]  # numbers, as any step time
        assert found.value == pytest.approx(sum(middle) / 2)  # type: ignore[arg-type]
        for one in found.inputs:
            assert one.place and "elapsed time per iteration" in one.place.raw


def evaluated(node: Node) -> float | None:
    """The formula of a node on the values of its inputs, where they have its names."""
    if node.how is None or not node.how.formula:
        return None
    names, call = function(node.how.formula)
    given = {one.name: one.value for one in node.inputs}
    given["tokens"] = given.get("tokens", given.get("tokens_per_step"))
    values = [given.get(name) for name in names]
    if not all(isinstance(value, (int, float)) for value in values):
        return None
    return call(*map(float, values))  # type: ignore[arg-type]  # numbers, as just asked


def test_every_formula_gives_its_value_from_its_inputs(swept: Path, warehouse: Warehouse) -> None:
    here = explain_context(warehouse, swept)
    seen: dict[str, int] = {}
    for run in here.runs():
        for name in ("days", "model_tflops", "documented_aggregate", "params_computed",
                     "params_without_embedding"):  # fmt: skip
            for node in derive(run, here.budget, name).walk():
                value = evaluated(node) if node.how and node.how.formula != "V1" else None
                if value is not None and node.value is not None:
                    assert node.how and math.isclose(value, float(node.value), rel_tol=1e-12)
                    seen[node.how.formula] = seen.get(node.how.formula, 0) + 1
    assert seen.keys() >= {"D1", "F5", "F7", "A1", "P1", "P1N"}


def test_expressions_multiply_out(swept: Path, warehouse: Warehouse) -> None:
    here = explain_context(warehouse, swept)
    for run in here.runs("tokens_per_s IS NOT NULL"):
        rate = derive(run, here.budget, "tokens_per_s")
        if rate.how and rate.how.expression == "tokens_per_step / step_time_s":
            tokens, time = (one.value for one in rate.inputs)
            assert float(tokens or 0) / float(time or 0) == pytest.approx(rate.value)
        step = derive(run, here.budget, "tokens_per_step")
        batch, length = (one.value for one in step.inputs)
        assert step.value == int(batch or 0) * int(length or 0)
        size = derive(run, here.budget, "world_size")
        if size.how and " x " in size.how.expression:
            assert size.value == math.prod(int(one.value or 0) for one in size.inputs)
