"""Settings that programs print anywhere, and steps that no line numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory

STEPS = "".join(f"step {n}/500 | loss: {3 - n / 8} | lr: 1e-4 | dt: 512 ms\n" for n in range(4))


def columns_of(folder: Path, text: str, *names: str) -> list[object]:
    (folder / "run.log").write_text(text)
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder / "run.log"], folder)
        [row] = warehouse.rows(f"SELECT {', '.join(names)} FROM configurations")
        return list(row)


@pytest.mark.parametrize(
    "line",
    [
        "Namespace(world_size=8, seq_length=4096, micro_batch_size=2, bf16=True)",
        "{'world_size': 8, 'max_seq_len': 4096, 'per_device_train_batch_size': 2, 'bf16': True}",
        "world_size .... 8\nseq_length .... 4096\nmicro_batch_size .... 2\nbf16 .... True",
        "world_size: 8\ndata:\n  block_size: 4096\n  device_batch_size: 2\nmixed_precision: bf16",
        "Number of GPUs: 8\n  Sequence length: 4096, Batch size per GPU: 2 - Mixed precision: bf16",
        "│ num_gpus │ 8 │\n│ seq_len │ 4096 │\n│ micro_batch_size │ 2 │\nmixed_precision: bf16",
        '{"args.num_gpus": "8", "data.seq_len": "4096", "train.micro_batch_size": 2, "bf16": true}',
        "n_gpus: 8 | context_len 4096 | micro_batch: 2 | precision: bf16",
        "num_devices: 8\nctx_len: 4096\nlocal_batch_size: 2\ndtype = 'bfloat16'",
        "$ python a.py --num-gpus 8 --seq-length 4096 --micro-batch-size=2 --mixed-precision bf16",
    ],
)  # fmt: skip
def test_one_grammar_of_settings(tmp_path: Path, line: str) -> None:
    found = columns_of(tmp_path, f"{line}\n{STEPS}", "world_size", "seq_len", "mbs", "dtype")
    assert found == [8, 4096, 2, "bf16"]


def test_what_is_stated_in_two_ways_is_not_stated(tmp_path: Path) -> None:
    """Of a draft, a rollout or an image model it is another setting; `-1` is none."""
    lines = (
        "vision: num_layers: 24\ntext: num_layers: 32\nrollout.tensor_parallel_size=2\n"
        "max_steps: -1\nbatch_size: 4\nseq_len: 4096\n"
    )
    found = columns_of(tmp_path, lines + STEPS, "layers", "tp", "train_iters", "mbs", "seq_len")
    assert found == [None, None, 500, None, 4096]


def test_a_setting_of_an_unknown_group_may_be_of_a_rollout(tmp_path: Path) -> None:
    """verl's configuration, as `pprint` breaks it (LeiLiLab/WALAR 8c9daf241617)."""
    lines = (
        "(TaskRunner pid=7)                        'rollout': {'disable_log_stats': False,\n"
        "(TaskRunner pid=7)                                    'tensor_model_parallel_size': 2,\n"
        "(TaskRunner pid=7)              'nnodes': 1,\n"
    )
    assert columns_of(tmp_path, lines + STEPS, "tp", "nodes") == [None, 1]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("$ torchrun --standalone --nproc_per_node=8 train.py", [1, 8]),
        ("OMP_NUM_THREADS=8 torchrun --nnodes 2 --nproc_per_node 8 train.py", [2, 16]),
        ("+ torchrun --nnodes=$NNODES --nproc_per_node 8 train.py", [None, None]),
    ],
)
def test_the_nodes_of_torchrun(tmp_path: Path, command: str, expected: list[object]) -> None:
    assert columns_of(tmp_path, f"{command}\n{STEPS}", "nodes", "devices") == expected


def test_a_setting_in_groups_of_thousands(tmp_path: Path) -> None:
    lines = 'Vocab size: 128,265\n"vocab_size": 128265,\nsequence length: 4,096 | num_layers=12,'
    found = columns_of(tmp_path, f"{lines}\n{STEPS}", "vocab", "seq_len", "layers")
    assert found == [128265, 4096, 12]


def test_lines_of_a_format_have_precedence(tmp_path: Path) -> None:
    lines = "  Instantaneous batch size per device = 4\nper_device_train_batch_size: 8\n"
    assert columns_of(tmp_path, lines + STEPS, "mbs") == [4]


def test_steps_that_no_line_numbers_are_counted(tmp_path: Path) -> None:
    """NVIDIA/NeMo-RL pull request 1052."""
    block = "Training Results:\n  • Loss: {}\nTiming:\n  • Total step time: {}s\n"
    (tmp_path / "a.log").write_text(block.format(0.5, 66.55) + block.format(0.25, 60.5))
    numbered = "========================= Step 7/9 =========================\n"
    (tmp_path / "b.log").write_text(numbered + block.format(0.25, 60.5))
    query = "SELECT iteration, loss, step_time_s, more['step'] FROM iterations ORDER BY iteration"
    note = "{}, counted: no line numbers the steps"
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "a.log"], tmp_path)
        assert warehouse.rows(query) == [
            (1, 0.5, 66.55, note.format(1)), (2, 0.25, 60.5, note.format(2)),
        ]  # fmt: skip
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "b.log"], tmp_path)
        assert warehouse.rows("SELECT iteration, step_time_s FROM iterations") == [(7, 60.5)]


@pytest.mark.parametrize("value", ["np.float64(2.25)", "tensor(2.25, device='cuda:0')", "2.25"])
def test_scalars_as_python_prints_them(tmp_path: Path, value: str) -> None:
    line = f"{{'loss': {value}, 'step': 3, 'lr': np.float64(1e-05), 'grad_norm': 0.5}}\n"
    (tmp_path / "run.log").write_text(line)
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "run.log"], tmp_path)
        assert warehouse.rows("SELECT iteration, loss, lr FROM iterations") == [(3, 2.25, 1e-5)]


def test_a_rate_of_an_engine_is_not_that_of_the_next_step(tmp_path: Path) -> None:
    """An excerpt that begins below the line with the number (a document on DeepSpeed-Chat)."""
    rate = (
        "[2023-06-21 03:45:55,424] [INFO] [timer.py:199:stop] epoch=1/micro_step=9/global_step={}, "
        "RunningAvgSamplesPerSec=6.6, CurrSamplesPerSec={}, MemAllocated=7.79GB, "
        "MaxMemAllocated=10.55GB\n"
    )
    step = "[2023-06-21 03:46:19,251] [INFO] [logging.py:96:log_dist] [Rank 0] step={}, skipped=19, lr=[9e-08], mom=[(0.9, 0.95)]\n"  # noqa: E501 - a log
    text = rate.format(1880, 6.25) + "".join(
        step.format(n) + rate.format(n, n / 100) for n in (1890, 1900)
    )
    (tmp_path / "run.log").write_text(text)
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "run.log"], tmp_path)
        query = "SELECT iteration, samples_per_s FROM iterations"
        assert warehouse.rows(query) == [(1890, 18.9), (1900, 19.0)]
