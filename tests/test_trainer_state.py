"""`trainer_state.json` of HF Trainer: one value a line, and a copy with each checkpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.ingest.files.containers import joined
from bench.ingest.kinds import is_trainer_state
from tests.program import quick, selected


def state(steps: Sequence[int], last: int = 60, *, ended: bool = False) -> str:
    """The file after these steps of `last`, as the trainer writes it."""
    entries: list[dict[str, object]] = [
        {"epoch": step / 20, "grad_norm": 1.5, "learning_rate": 1e-5 / step,
         "loss": round(5 / step, 4), "step": step} for step in steps
    ]  # fmt: skip
    entries.append({"epoch": 1.0, "eval_loss": 1.25, "eval_runtime": 3.5, "step": steps[-1]})
    if ended:
        entries.append({"epoch": 3.0, "step": last, "total_flos": 1e15, "train_loss": 1.5,
                        "train_runtime": 120.0, "train_samples_per_second": 4.0,
                        "train_steps_per_second": 0.5})  # fmt: skip
    head = {"best_metric": None, "epoch": steps[-1] / 20, "global_step": steps[-1]}
    whole = head | {"log_history": entries, "max_steps": last, "num_train_epochs": 3}
    return json.dumps(whole, indent=2) + "\n"


def test_each_interval_is_a_step_at_its_line(folder: Path) -> None:
    text = state([10, 20, 30, 40, 50, 60], ended=True)
    (folder / "trainer_state.json").write_text(text)
    assert quick(folder, "ingest", ".").code == 0
    steps = selected(folder, "SELECT iteration, loss, lr, grad_norm, line FROM iterations")
    assert [step["iteration"] for step in steps] == [10, 20, 30, 40, 50, 60]
    for step in steps:
        above = text.splitlines()[: step["line"]]
        assert above[-1].strip() == "{" and f'"loss": {step["loss"]},' in "\n".join(
            text.splitlines()[step["line"] : step["line"] + 7]
        )
    [run] = selected(folder, "SELECT framework, status, train_iters FROM configurations")
    assert run == {"framework": "HF Trainer", "status": "ok", "train_iters": 60}
    [evaluation] = selected(folder, "SELECT iteration, value FROM evaluations")
    assert evaluation == {"iteration": 60, "value": 1.25}


@pytest.mark.parametrize("top", (False, True))
def test_states_of_checkpoints_are_one_run(folder: Path, top: bool) -> None:
    for last in (30, 40, 60):
        made = folder / "out" / f"checkpoint-{last}"
        made.mkdir(parents=True)
        (made / "trainer_state.json").write_text(state(range(10, last + 1, 10)))
    if top:
        whole = state(range(10, 61, 10), ended=True)
        (folder / "out" / "trainer_state.json").write_text(whole)
    other = folder / "other" / "checkpoint-30"
    other.mkdir(parents=True)
    (other / "trainer_state.json").write_text(state(range(10, 31, 10), last=90))
    assert quick(folder, "ingest", ".").code == 0
    count = "SELECT uri, count(*) AS n FROM runs JOIN iterations USING (run_id) GROUP BY ALL"
    rows = {row["uri"].split("/")[0]: row["n"] for row in selected(folder, count)}
    assert rows == {"out": 6, "other": 3}
    assert len(selected(folder, "FROM runs")) == 2


def test_a_state_beside_its_log_is_no_second_run(folder: Path) -> None:
    lines = [
        str({"loss": round(5 / step, 4), "grad_norm": 1.5, "learning_rate": 1e-5 / step,
             "epoch": step / 20, "global_step": step}) for step in range(10, 71, 10)
    ]  # fmt: skip
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    for last in (30, 60):
        made = folder / "out" / f"checkpoint-{last}"
        made.mkdir(parents=True)
        (made / "trainer_state.json").write_text(state(range(10, last + 1, 10)))
    assert quick(folder, "ingest", ".").code == 0
    assert selected(folder, "SELECT uri FROM runs") == [{"uri": "train.log"}]


def test_a_state_that_is_written_again_is_read_again(folder: Path) -> None:
    for last in (30, 60):
        (folder / "trainer_state.json").write_text(state(range(10, last + 1, 10)))
        assert quick(folder, "ingest", ".").code == 0
    done = quick(folder, "ingest", ".")
    assert len(selected(folder, "FROM iterations")) == 6 and "0 new, 1 unchanged" in done.err


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    text = json.dumps({"log_history": [{"a": 1, "b": 2}, {"c": {"d": 3}}]}, indent=2) + "\n"
    assert is_trainer_state(text.encode())
    path = tmp_path / "state.json"
    path.write_text(text)
    with path.open("rb") as stream:
        lines = joined(stream).read().decode().split("\n")
    assert len(lines) == text.count("\n") + 1
    assert lines[2] == '{"a": 1, "b": 2},' and lines[3:7] == ["", "", "", "    {"]
    assert lines[7:10] == ['"c": {"d": 3}', "", ""]


def test_a_file_that_breaks_off_within_an_object_is_read_up_to_there(folder: Path) -> None:
    text = state([10, 20, 30, 40])
    (folder / "trainer_state.json").write_text(text[: text.index('"loss": 0.125')])
    assert quick(folder, "ingest", ".").code == 0
    steps = selected(folder, "SELECT iteration FROM iterations")
    assert [step["iteration"] for step in steps] == [10, 20, 30]


def test_an_object_without_end_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text('{\n  "log_history": [\n    {\n' + '      "a": 1,\n' * 3000)
    with path.open("rb") as stream:
        assert joined(stream).read() == path.read_bytes()
