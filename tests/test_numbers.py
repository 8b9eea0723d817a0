"""Numbers of many lines read at once against those that a format reads of each line."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.ingest.cast import double, shifted, timestamp
from bench.ingest.files.pipeline import ingest_into
from bench.ingest.logs.blocks import Lines
from bench.ingest.logs.dialect import dialects
from bench.ingest.logs.line_layouts import StepLayout, Value, step_layout
from bench.ingest.logs.line_shapes import Shapes
from bench.ingest.logs.masks import mask_digits
from bench.ingest.logs.numbers import Numbers
from bench.ingest.logs.scan import Scan
from bench.schema.opening import in_memory

LAYOUTS = [
    (layout, sample.line)
    for dialect in dialects()
    for sample in dialect.samples
    if (layout := step_layout(dialect, sample.line))
]
MEGATRON = next(line for _, line in LAYOUTS if "(ms)" in line and "lm loss: " in line)
FORMS = (".3f", ".1f", ".6E", ".3E", ".14E", ".17g", ".0f", "12.4f", "+.2f", ".25f")


def read(lines: list[str], *values: Value) -> tuple[pa.Table, list[bool]]:
    """The values of lines of one mask, and which lines fit."""
    block = Lines("\n".join(lines).encode())
    starts = block.starts(np.arange(len(lines)))
    numbers = Numbers(block.letters, starts, mask_digits(lines[0]), values, ())
    return numbers.table(values), numbers.fits.tolist()


@pytest.mark.parametrize(("layout", "line"), LAYOUTS, ids=lambda x: str(x)[:40])
def test_every_format(layout: StepLayout, line: str) -> None:
    chance = random.Random(line)
    lines = []
    for _ in range(50):
        other = list(line)
        for value in layout.values:
            for at in range(*value.span):
                other[at] = chance.choice("0123456789") if other[at].isdigit() else other[at]
        lines.append("".join(other))
    found, fits = read(lines, *layout.values)
    losses, kept = layout.series.names("loss"), layout.series.names("more")
    for place, row in enumerate(found.to_pylist()):
        record = layout.series.dialect.read(lines[place])
        assert record is not None
        if fits[place]:
            fields = {name: value for name, value in record.fields.items() if ":" not in name}
            named, more = fields.pop("losses", {}), fields.pop("more", {})
            assert isinstance(named, Mapping) and isinstance(more, Mapping)
            assert [row[f"loss:{key}"] for key in losses] == list(named.values())
            assert [row[f"more:{key}"] for key in kept] == [more[key] for key in kept]
            assert {**row, **fields} == row | {"loss": fields.get("loss", row.get("loss"))}


def test_formats_of_many_users_are_read_many_at_once() -> None:
    names = {layout.series.dialect.name for layout, _ in LAYOUTS}
    assert names >= {"megatron_alcf", "megatron_deepspeed", "megatron_epfl", "megatron_lm"}


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(FORMS),
       st.sampled_from([0, 0, -3, 12, -30]))  # fmt: skip
def test_doubles_are_the_nearest(value: float, form: str, shift: int) -> None:
    text = f"{value:{form}}".strip()
    if not re.fullmatch(r"[-+]?\d+\.?\d*([eE][-+]\d+)?", text) or (shift and "e" in text.lower()):
        return
    lines = [re.sub(r"\d", str(digit), text) for digit in (1, 9, 0)] + [text]
    found, fits = read(lines, Value("x", "double", (0, len(text)), shift=shift))
    expected = [shifted(line, shift) if shift else double(line) for line in lines]
    for one, fit, known in zip(found["x"].to_pylist(), fits, expected, strict=True):
        assert (repr(one) if fit else None) == (repr(known) if known is not None else None)


@pytest.mark.parametrize("text", ["2147483647", "2147483648", "-2147483648", "-2147483649", "+7"])
def test_whole_numbers_within_their_limits(text: str) -> None:
    found, fits = read([text] * 2, Value("x", "whole", (0, len(text)), limit=2**31))
    assert fits == [-(2**31) <= int(text) < 2**31] * 2
    assert not fits[0] or found["x"].to_pylist() == [int(text)] * 2


def test_whole_numbers_of_many_digits() -> None:
    lines = [str(2**63 - 1), str(2**63), "0" * 18 + "7"]
    found, fits = read(lines, Value("x", "whole", (0, 19), limit=2**63))
    assert fits == [True, False, True] and found["x"].to_pylist()[::2] == [2**63 - 1, 7]


def test_times_are_those_of_python() -> None:
    lines = ["2024-02-29 00:00:00.5", "2023-02-29 00:00:00.5", "0000-01-01 00:00:00.0",
             "2024-13-01 00:00:00.0", "2000-02-29 23:59:59.9", "2024-01-01 24:00:00.0"]  # fmt: skip
    found, fits = read(lines, Value("x", "time", (0, len(lines[0]))))
    times = [time if fit else None for time, fit in zip(found["x"].to_pylist(), fits, strict=True)]
    assert times == [timestamp(line) for line in lines]


def test_lines_of_one_mask_are_read_in_columns() -> None:
    """One damaged line holds up no other, and neither does a line of memory between them."""
    lines = [re.sub(r"(?<=\.\d)\d", str(n % 10), MEGATRON) for n in range(300)]
    lines[7] = lines[7].replace("lm loss: ", "lm loss= ")
    lines[90] = "time (ms) | forward-compute: 31.88 | optimizer: 50.66"
    scan = Scan(Lines("\n".join([*lines, ""]).encode()), Shapes(dialects()))
    [steps] = scan.steps
    assert steps.places.tolist() == [at for at in range(300) if at not in (7, 90)]
    assert scan.neutral[90] and not scan.neutral[7]


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
