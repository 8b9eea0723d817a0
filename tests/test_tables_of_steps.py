"""Tables of steps that programs print or write: below a heading, or as a CSV file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from tests.logs import stored

TABLES = (
    "Step\tTraining Loss\n1\t2.5000\n2\t2.2500\n3\t2.0000\n",
    "┃ Step ┃ Val loss ┃ Loss ┃\n┡━━━╇━━━╇━━━┩\n│ 1 │ 9.5 │ 2.5000 │\n│ 2 │ 9.4 │ 2.25 │\n"
    "│ 3 │ 9.3 │ 2.0000 │\n└───┴───┘\n",
    "  step   loss  lr  ms\n     1  2.5000  1e-4  512\n     2  2.2500  1e-4  510\n"
    "     3  2.0000  1e-4  511\n\n",
    "step loss lr\n1 2.5 1e-4\n2 2.25 1e-4\n3 2.0 1e-4\n",
)


@pytest.mark.parametrize("text", TABLES)
def test_a_table_of_steps(tmp_path: Path, text: str) -> None:
    found, _ = stored(tmp_path, f"starting\n{text}done\n")
    assert found == [(1, None, 2.5), (2, None, 2.25), (3, None, 2.0)]


LIGHTNING = """\
epoch,lr-AdamW,step,train_loss_epoch,train_loss_step,val_loss
,0.0001,9,,,
0,,9,,4.5,
,0.0001,19,,,
0,,19,,4.1,
0,,19,,,3.9
0,,19,4.3,,
1,,29,,3.8,
"""


@pytest.mark.parametrize(("text", "steps"), [
    (LIGHTNING, [(9, 4.5), (19, 4.1), (29, 3.8)]),
    (",step,loss,mfu\n0,10,3.5,0.31\n1,20,3.4,0.32\n2,30,3.3,0.31\n",
     [(10, 3.5), (20, 3.4), (30, 3.3)]),
])  # fmt: skip
def test_a_file_with_commas_of_steps(
    tmp_path: Path, text: str, steps: list[tuple[int, float]]
) -> None:
    (tmp_path / "metrics.csv").write_text(text)
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path], tmp_path)
        rows = warehouse.rows("SELECT iteration, loss, mfu FROM iterations ORDER BY iteration")
    assert [row[:2] for row in rows] == steps
    assert {row[2] for row in rows} <= {None, 0.31, 0.32}


@pytest.mark.parametrize("text", [
    "epoch,train_loss\n1,3.5\n2,3.4\n3,3.3\n",  # no steps
    "split,step,loss\ntrain,1,3.5\nval,1,3.4\ntrain,2,3.3\n",
    "step,loss\n30,3.5\n20,3.4\n10,3.3\n",
])  # fmt: skip
def test_a_file_with_commas_of_something_else(tmp_path: Path, text: str) -> None:
    (tmp_path / "metrics.csv").write_text(text)
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path], tmp_path)
        assert warehouse.rows("FROM iterations") == []


@pytest.mark.parametrize(
    "text",
    [
        "Epoch\tTraining Loss\n1\t2.5\n2\t2.25\n3\t2.0\n",  # no steps
        "Step\tValidation Loss\n1\t2.5\n2\t2.25\n3\t2.0\n",  # no training
        "Step\tLoss\n1\t2.5\n2\t2.25\n",  # too few
        "Step\tLoss\n3\t2.5\n2\t2.25\n1\t2.0\n",  # a ranking
    ],
)
def test_a_table_of_something_else(tmp_path: Path, text: str) -> None:
    found, messages = stored(tmp_path, text)
    assert (found, messages) == ([], [])
