"""Predictions from logs: the runs of a sweep, one file each, tell of one another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.program import quick

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
SWEEP = ROOT / "examples" / "h200"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep on one GPU, each log in a folder of its own, as `bench launch` leaves them."""
    made = tmp_path_factory.mktemp("sweep")
    for log in SWEEP.glob("*.log"):
        (made / "logs" / log.stem).mkdir(parents=True)
        shutil.copy(log, made / "logs" / log.stem)
    assert quick(made, "ingest", "-q", "logs").code == 0
    return made


@pytest.mark.parametrize(("model", "mbs", "measured"), [("1.31B", 8, 1.172), ("354M", 16, 0.2074)])
def test_a_run_left_out_is_predicted_from_the_others(
    folder: Path, model: str, mbs: int, measured: float
) -> None:
    asked = ("predict", "--model", model, "--where", f"mbs = {mbs}", "--recompute", "none")
    [row] = json.loads(quick(folder, *asked, "--format", "json").out)
    assert row["step_time_low"] < measured < row["step_time_high"] < 1.3 * measured, row
    told = quick(folder, *asked, "--format", "md").out
    assert f"Measured: {measured:.4g} s/it" in told and "Extrapolated" not in told, told


def test_a_micro_batch_between_measured_ones_is_no_extrapolation(folder: Path) -> None:
    told = quick(folder, "predict", "--all", "--model", "354M", "--format", "md").out
    [two] = [line for line in told.splitlines() if "| predicted |" in line]
    assert "Extrapolated" not in told and "beyond" not in told, told
    assert 0.3135 < float(two.split("|")[5]) < 1.437, two  # those of micro-batches 4 and 1


def test_a_label_finds_the_model_that_rankings_find(folder: Path) -> None:
    """1.31B as computed from the shape is the 1.3B that is asked for."""
    told = quick(folder, "predict", "--model", "1.3B", "--mbs", "8", "--format", "md").out
    assert told.startswith("Measured: 1.172 s/it") and "no source has a model" not in told, told
    assert "layers and hidden size of a usual model" not in told
    other = quick(folder, "predict", "--model", "1.4B", "--format", "md").out
    assert "no source has a model of this size" in other, "beyond 3%"


def test_the_memory_that_logs_print_predicts_that_of_others(folder: Path) -> None:
    asked = ("predict", "--model", "1.31B", "--mbs", "16", "--recompute", "none")
    [row] = json.loads(quick(folder, *asked, "--format", "json").out)
    # The log left out prints max allocated: 81603.97 MiB.
    assert row["memory_gb_low"] < 85.57 < row["memory_gb_high"] < 1.2 * 85.57, row
    assert "by arithmetic" not in quick(folder, *asked, "--format", "md").out
