"""Rows below one that names them: a model, a device, or what sets them apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.documents import runs
from tests.program import quick

TABLE = """## Training on 8 A100

| Machine | Batch | tokens/s/GPU |
| --- | --- | --- |
| {first} | {line} | {line} |
| one node | 4 | 4410 |
| two nodes | 4 | 4024 |
| {second} | {line} | {line} |
| one node | 4 | 1784 |
| two nodes | {batch} | 1648 |
"""


def read(first: str, second: str, *, line: str = "", batch: int = 4) -> list[dict[str, object]]:
    return runs(TABLE.format(first=first, second=second, line=line, batch=batch))


@pytest.mark.parametrize("line", ["", "-------"])
def test_the_model_of_a_group(line: str) -> None:
    found = read("**GPT3-6.7B**", "GPT3-13B", line=line)
    assert [run["model"] for run in found] == ["GPT3-6.7B"] * 2 + ["GPT3-13B"] * 2


def settings(folder: Path, text: str) -> list[str]:
    """The settings of each run in the order of the lines, as `bench runs` lists them."""
    (folder / "a.md").write_text(text)
    listed = json.loads(quick(folder, "runs", "a.md", "--format", "json").out)
    return [one["settings"] or "" for one in sorted(listed, key=lambda one: str(one["where"]))]


def test_a_word_tells_equal_rows_apart(folder: Path) -> None:
    text = TABLE.format(first="Baseline", second="With flash", line="", batch=4)
    found = settings(folder, text.replace("| two nodes | 4 | 1648 |\n", ""))
    assert ["Variant=Baseline" in one for one in found] == [True, True, False]
    assert "Variant=With flash" in found[2]


def test_rows_that_differ_anyway_need_no_word(folder: Path) -> None:
    text = TABLE.format(first="First", second="Second", line="", batch=8)
    found = settings(folder, text.replace("| one node | 4 | 1784 |\n", ""))
    assert len(found) == 3 and not any("Variant" in one for one in found)


def test_a_dash_alone_is_a_value_that_is_missing() -> None:
    assert len(read("GPT3-6.7B", "GPT3-13B", line="-")) == 6
