"""Steps read in columns of bytes are those that are read piece by piece, to the last bit."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.ingest import aligned
from bench.ingest.aligned import read_aligned
from bench.ingest.block_lines import Lines
from bench.ingest.dialect import Dialect, dialects
from bench.ingest.found import Found, in_order
from bench.ingest.lines import peel
from bench.ingest.moments import moments
from bench.ingest.pipeline import ingest_into
from bench.ingest.split import read_steps
from bench.ingest.template import Template, template_of
from bench.schema.warehouse import in_memory


def templates() -> Iterator[tuple[Template, str]]:
    for dialect in dialects():
        for sample in dialect.samples:
            if shape := template(dialect, sample.line):
                yield shape, sample.line


def template(dialect: Dialect, line: str) -> Template | None:
    record = dialect.read(line)
    if dialect.reads != "iteration" or record is None:
        return None
    return template_of(dialect, line, peel(line), record)


SHAPES = list(templates())
MEGATRON = next(line for shape, line in SHAPES if "(ms)" in line and "lm loss: " in line)
NUMBERS = re.compile(r"(?<![\w.:-])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.:-])")
# What may stand where a number does, and in its place.
OTHERS = (
    "nan", "inf", "-1.5", "+2", "1e400", "9" * 30, "1,234.5", "0.1 2", "", "1.", ".5", "0x1f",
    "1_000", "\u0661\u0662", "12\u00a0", "1e5", "4.9E-324", "0.000E+00", "-0.0", "1.5E+23",
)  # fmt: skip
FORMS = (".3f", ".1f", ".6E", ".3E", ".14E", ".17g", ".0f", "12.4f", "+.2f")


def both(shape: Template, lines: list[str]) -> tuple[Found, Found]:
    """What is read of lines in columns, the rest piece by piece, and all of it piece by piece."""
    block, places = Lines("\n".join(lines).encode()), np.arange(len(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aligned, "MANY_ALIKE", 2)
        alike, left = read_aligned(shape, block, places)
    found = in_order([alike, read_steps(shape, block.gather(left), left)])
    return found, read_steps(shape, pa.array(lines, pa.string()), places)


def same(found: Found, expected: Found) -> bool:
    if not len(expected):
        return not len(found)
    values = found.values.select(expected.values.column_names)
    places, wanted = found.places.tolist(), expected.places.tolist()
    return places == wanted and bool(values.equals(expected.values))


def other_digits(chance: random.Random, line: str) -> str:
    """A line with other digits, and here and there another number of them."""

    def digits(found: re.Match[str]) -> str:
        text = "".join(chance.choice("0123456789") if c.isdigit() else c for c in found[0])
        if chance.random() < 0.02:
            return chance.choice(OTHERS)
        text = chance.choice(("", "1", "-")) + text if chance.random() < 0.1 else text
        wide = len(found[0]) if chance.random() < 0.8 else 0
        return text.lstrip("0").rjust(wide) if chance.random() < 0.3 else text

    return NUMBERS.sub(digits, line)


@pytest.mark.parametrize(("shape", "line"), SHAPES, ids=lambda x: getattr(x, "name", ""))
def test_every_format(shape: Template, line: str) -> None:
    chance = random.Random(line)
    lines = [other_digits(chance, line) for _ in range(400)]
    found, expected = both(shape, lines)
    assert same(found, expected), (found, expected)
    assert len(found) > 100


def test_formats_of_many_users_are_read_many_at_once() -> None:
    names = {shape.dialect.name for shape, _ in SHAPES}
    assert names >= {"megatron_alcf", "megatron_deepspeed", "megatron_epfl", "megatron_lm"}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_lines(data: st.DataObject) -> None:
    shape, line = data.draw(st.sampled_from(SHAPES))
    chance = data.draw(st.randoms(use_true_random=False))
    lines = [other_digits(chance, line) for _ in range(12)]
    for place in data.draw(st.lists(st.integers(0, 11), max_size=4)):
        at = data.draw(st.integers(0, len(lines[place])))
        put = data.draw(st.sampled_from(["", " ", "|", "9", "-", ".", "e5", "\u00e9", "\t", "\0"]))
        gone = data.draw(st.integers(0, 2))
        lines[place] = lines[place][:at] + put + lines[place][at + gone :]
    found, expected = both(shape, lines)
    assert same(found, expected)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=6),
    st.sampled_from(FORMS),
)
def test_doubles_are_the_nearest(values: list[float], form: str) -> None:
    before, after = re.split(r"(?<=lm loss: )\S+", MEGATRON, maxsplit=1)
    lines = [f"{before}{value:{form}}{after}" for value in values]
    found, expected = both(next(shape for shape, line in SHAPES if line == MEGATRON), lines)
    assert same(found, expected)
    losses = found.values["loss:lm loss"].to_pylist() if len(found) else []  # all infinite
    for place, loss in zip(found.places.tolist(), losses, strict=True):
        assert loss == float(f"{values[place]:{form}}")


@given(st.lists(st.tuples(st.integers(0, 9999), *[st.integers(0, 99)] * 5,
                          st.integers(0, 999_999)), min_size=1))  # fmt: skip
@example([(2024, 2, 29, 0, 0, 0, 0), (2023, 2, 29, 0, 0, 0, 0), (0, 1, 1, 0, 0, 0, 0)])
@example([(1900, 2, 29, 0, 0, 0, 0), (2000, 2, 29, 23, 59, 59, 1), (2024, 13, 1, 0, 0, 60, 0)])
def test_times_are_those_of_python(printed: list[tuple[int, ...]]) -> None:
    times, fits = moments(list(np.array(printed).T))
    for parts, time, fit in zip(printed, times.tolist(), fits.tolist(), strict=True):
        assert (time if fit else None) == python_time(*parts)


def python_time(
    year: int, month: int, day: int, hour: int, minute: int, second: int, microsecond: int
) -> datetime | None:
    try:
        return datetime(year, month, day, hour, minute, second, microsecond)
    except ValueError:
        return None


@pytest.mark.parametrize("shift", [-9, -12, 9])
def test_units_far_from_the_printed_one(shift: int) -> None:
    shape = next(shape for shape, line in SHAPES if line == MEGATRON)
    slots = [replace(s, field=replace(s.field, shift=shift)) if s.name.startswith("elapsed") else s
             for s in shape.slots]  # fmt: skip
    lines = [re.sub(r"(?<=\(ms\): )[\d.]+", f"1.{n:014d}", MEGATRON) for n in range(300)]
    found, expected = both(replace(shape, slots=tuple(slots)), lines)
    assert same(found, expected) and len(found) == 300


def test_lines_of_one_length_are_read_in_columns() -> None:
    shape = next(shape for shape, line in SHAPES if line == MEGATRON)
    lines = [re.sub(r"(?<=\d)\d(?=[\dE]* )", str(n % 10), MEGATRON) for n in range(300)]
    block = Lines("\n".join(lines).encode())
    alike, left = read_aligned(shape, block, np.arange(300))
    assert (len(alike), len(left)) == (300, 0)
    lines[0] = lines[0].replace("lm loss: ", "lm loss= ")
    alike, left = read_aligned(shape, Lines("\n".join(lines).encode()), np.arange(300))
    assert (len(alike), left.tolist()) == (299, [0]), "one damaged line holds up no other"


def test_the_view_gives_every_loss_by_its_name(tmp_path: Path) -> None:
    two = "lm loss: 2.0E+00 | moe loss: 3.0E-01"
    lines = [
        f" iteration {n}/ 10 | elapsed time per iteration (ms): 100.0 | {loss} |"
        " number of skipped iterations: 0 | number of nan iterations: 0 |"
        for n, loss in enumerate(["lm loss: 4.0E+00", two], 1)
    ]
    (tmp_path / "run.log").write_text("\n".join(lines))
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path], tmp_path)
        found = warehouse.rows("SELECT loss, losses FROM iterations ORDER BY iteration")
    assert found == [(4.0, {"lm loss": 4.0}), (2.0, {"lm loss": 2.0, "moe loss": 0.3})]
