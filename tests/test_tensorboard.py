"""TensorBoard event files, written by TensorBoard's own writer and read by its own reader."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.ingest.files.tensorboard import read_events, writers
from bench.ingest.kinds import NoReader
from tests.making import iteration
from tests.program import quick, selected

Row = tuple[int, dict[str, float]]


def write(folder: Path, steps: Sequence[Row], texts: dict[str, str] | None = None) -> Path:
    """An event file with these scalars by step, and texts of the arguments."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.types_pb2 import DT_STRING
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    for name, text in (texts or {}).items():
        tensor = TensorProto(dtype=DT_STRING, string_val=[text.encode()])
        plugin = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        value = Summary.Value(tag=f"{name}/text_summary", metadata=plugin, tensor=tensor)
        writer.add_event(Event(summary=Summary(value=[value]), step=0, wall_time=1.7e9))
    for step, scalars in steps:
        for tag, number in scalars.items():
            value = Summary.Value(tag=tag, simple_value=number)
            at = 1.7e9 + step
            writer.add_event(Event(summary=Summary(value=[value]), step=step, wall_time=at))
    writer.close()
    [file] = folder.glob("events.out.tfevents.*")
    return file


MEGATRON = [
    (n, {"learning-rate": n * 1e-5, "batch-size": 8.0, "lm loss": 10.0 / n, "grad-norm": 1.5,
         "lm loss vs samples": 10.0 / n, "iteration-time": 0.25, "mem-reserved-bytes": 1e9})
    for n in range(1, 8)
]  # fmt: skip
ARGUMENTS = {"num_layers": "24", "tensor_model_parallel_size": "2", "bf16": "True",
             "hf_token": "hf_abcdefghijklmnop1234"}  # fmt: skip


def test_a_run_of_megatron_is_read_with_its_arguments(folder: Path) -> None:
    write(folder / "tb", MEGATRON, ARGUMENTS)
    done = quick(folder, "ingest", "tb")
    assert done.code == 0 and "TensorBoard" in done.out
    [run] = selected(
        folder, "SELECT framework, layers, tp, dtype, gbs_logged, status FROM configurations"
    )
    assert run == {"framework": "Megatron-LM", "layers": 24, "tp": 2, "dtype": "bf16",
                   "gbs_logged": 8.0, "status": "ended"}  # fmt: skip
    rows = selected(folder, "FROM iterations ORDER BY iteration LIMIT 2")
    assert [row["iteration"] for row in rows] == [1, 2] and rows[1]["interval_length"] == 1
    assert rows[1]["loss"] == 5 and rows[1]["gbs"] == 8
    assert rows[1]["lr"] == pytest.approx(2e-5, rel=1e-6)
    assert str(rows[0]["printed_at"]).startswith("2023-11-14T22:13:21")
    [row] = selected(folder, "SELECT median, n FROM run_stats WHERE metric = 'step_time_s'")
    assert row == {"median": 0.25, "n": 6}
    [row] = selected(folder, "SELECT count(*) AS n, min(value) AS b FROM memory WHERE unit = 'B'")
    assert row["n"] == 7 and row["b"] == pytest.approx(1e9)
    assert "hf_abc" not in str(selected(folder, "FROM facts"))
    [source] = selected(folder, "SELECT lines_read, lines_unread FROM sources")
    assert source == {"lines_read": 42, "lines_unread": 7}, "`vs samples` says nothing new"


@pytest.mark.parametrize("name", [one.name for one in writers()])
def test_the_tags_of_every_writer_are_told_apart(tmp_path: Path, name: str) -> None:
    [writer] = [one for one in writers() if one.name == name]
    steps = [(n * 4, dict.fromkeys(writer.tags, 2.0)) for n in range(1, 4)]
    rows, coverage = read_events(write(tmp_path, steps), "s")
    [run] = rows.by_table["runs"]
    assert run["framework"] == name and coverage.lines_unread == 0
    found = rows.by_table["iterations"]
    assert [row["iteration"] for row in found] == ([1, 2, 3] if writer.axis == "samples"
                                                   else [4, 8, 12])  # fmt: skip
    assert found[0]["loss"] == 2.0
    shifted = [tag for tag, what in writer.tags.items() if what.get("shift")]
    assert not shifted or found[0]["step_time_s"] == pytest.approx(0.002)


def test_samples_without_a_constant_batch_are_no_iterations(tmp_path: Path) -> None:
    steps = [(n, {"Train/Samples/train_loss": 1.0}) for n in (8, 16, 40)]
    rows, _ = read_events(write(tmp_path, steps), "s")
    assert "runs" not in rows.by_table
    assert rows.by_table["warnings"][0]["code"] == "axis"


def test_a_restart_goes_back_and_a_broken_end_is_left(tmp_path: Path) -> None:
    rewound = [(n, {"lm loss": 1.0, "learning-rate": 0.1}) for n in (1, 2, 3, 2, 3, 4)]
    file = write(tmp_path, rewound)
    rows, _ = read_events(file, "s")
    segments = [row["segment"] for row in rows.by_table["iterations"]]
    assert segments == [1, 1, 1, 2, 2, 2] and rows.by_table["runs"][0]["segment"] == 2
    file.write_bytes(file.read_bytes()[:-7])
    rows, _ = read_events(file, "s")
    assert len(rows.by_table["iterations"]) == 6, "the last scalar alone is lost"
    file.write_bytes(b"\x00\xff" * 400)
    rows, _ = read_events(file, "s")
    assert "runs" not in rows.by_table


def test_an_event_file_that_repeats_a_log_is_no_second_run(folder: Path) -> None:
    (folder / "job").mkdir()
    text = "".join(iteration(n) for n in range(1, 8))
    (folder / "job" / "train.log").write_text(text)
    like = [(n, {"learning-rate": 1e-3, "lm loss": 5.760191, "grad-norm": 7.4391,
                 "iteration-time": 0.1}) for n in range(1, 12)]  # fmt: skip
    write(folder / "job" / "tb", like, {"num_layers": "3"})
    write(folder / "other", MEGATRON)
    write(folder / "job", like[:8])
    (folder / "job" / "job.sh").write_text("#!/bin/bash\n#SBATCH --nodes=2\nsrun python t.py\n")
    (folder / "other" / "a.sh").write_text("#!/bin/bash\n#SBATCH --nodes=3\nsrun python t.py\n")
    quick(folder, "ingest", "-q", ".")
    nodes = selected(folder, "SELECT nodes FROM configurations ORDER BY uri")
    assert nodes == [{"nodes": 2}, {"nodes": 3}], "an event file is no second log of a script"
    stored = selected(folder, "SELECT count(*) AS n FROM loads")
    uris = [
        row["uri"].split("/")[0] for row in selected(folder, "SELECT uri FROM runs ORDER BY uri")
    ]
    assert uris == ["job", "other"]
    found = selected(folder, "SELECT c.uri, rule, r.uri AS log FROM companions c JOIN runs r "
                          "USING (run_id) WHERE rule = 'same steps'")  # fmt: skip
    assert len(found) == 2 and {row["log"] for row in found} == {"job/train.log"}
    quick(folder, "ingest", "-q", ".")
    assert len(selected(folder, "FROM runs")) == 2, "and it stays so"
    assert selected(folder, "SELECT nodes FROM configurations ORDER BY uri") == nodes
    assert selected(folder, "SELECT count(*) AS n FROM loads") == stored
    [row] = json.loads(quick(folder, "runs", "job", "--format", "json").out)
    assert row["where"] == "job/train.log:1"
    (folder / "job" / "train.log").write_text(text.replace("7.439", "7.539"))
    quick(folder, "ingest", "-q", ".")
    assert len(selected(folder, "FROM runs")) == 4, "other norms are another run"


def test_without_the_extra_it_is_said_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(folder / "tb", MEGATRON)
    for name in [name for name in sys.modules if name.split(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(NoReader, match="pip install 'bench-warehouse\\[tensorboard\\]'"):
        read_events(file, "s")
    (folder / "a.log").write_text(iteration(1))
    done = quick(folder, "ingest", ".")
    assert done.code == 0 and "pip install 'bench-warehouse[tensorboard]'" in done.err
    assert quick(folder, "ingest", "tb").code == 3


def test_what_torch_writes(tmp_path: Path) -> None:
    torch_writer = pytest.importorskip("torch.utils.tensorboard")
    writer = torch_writer.SummaryWriter(str(tmp_path))
    writer.add_text("num_layers", "12", 0)
    for step in range(1, 4):
        writer.add_scalar("lm loss", 3.0 - step, step)
        writer.add_scalar("learning-rate", 0.1, step)
    writer.close()
    [file] = tmp_path.glob("events.out.tfevents.*")
    rows, _ = read_events(file, "s")
    assert [row["loss"] for row in rows.by_table["iterations"]] == [2.0, 1.0, 0.0]
    assert rows.by_table["runs"][0]["layers"] == 12


@pytest.mark.parametrize("shape", [[10**10], [2**40, 2**40], [-5], [0], [2]])
def test_a_scalar_is_one_number(tmp_path: Path, shape: list[int]) -> None:
    """NumPy would fill the shape that a tensor claims, from its only value."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
    from tensorboard.compat.proto.types_pb2 import DT_FLOAT, DT_STRING
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(tmp_path))
    plugin = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    claimed = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])
    for tensor in (
        TensorProto(dtype=DT_FLOAT, float_val=[2.5], tensor_shape=claimed),
        TensorProto(dtype=DT_STRING, string_val=[b"2.5 or so"]),
        TensorProto(dtype=999, float_val=[2.5]),
        TensorProto(dtype=DT_FLOAT, float_val=[1.5]),
    ):
        value = Summary.Value(tag="lm loss", metadata=plugin, tensor=tensor)
        writer.add_event(Event(summary=Summary(value=[value]), step=1, wall_time=1.7e9))
    writer.close()
    [file] = tmp_path.glob("events.out.tfevents.*")
    rows, coverage = read_events(file, "s")
    assert [row["loss"] for row in rows.by_table["iterations"]] == [1.5]
    assert coverage.lines_unread == 3
