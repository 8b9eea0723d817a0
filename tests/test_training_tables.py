"""Which tables tell of training runs: by their headings, and by the words around them."""

import pytest

from bench.ingest.documents.training_tables import is_training
from bench.vocabulary.parallelism import sizes_in


@pytest.mark.parametrize(
    ("headings", "path", "lead", "answer"),
    [
        (["Techniques", "TPS/GPU", "Memory(GiB)"], ["Results"], "Llama 8B, FSDP, 8 GPUs.", True),
        (["Scaling method", "Median tokens/s"], ["Training"], "", True),
        (["Model", "Tokens/s", "Memory"], ["Results"], "", False),  # may be of inference
        (["Batch size", "Seq len", "Samples/s", "Latency (ms)"], ["Training"], "", False),
        (["GPUs", "Batch size", "Samples/s"], ["Training", "Inference performance"], "", False),
        (["GPUs", "Batch size", "Samples/s"], ["Inference", "Training performance"], "", True),
        (
            ["Nodes", "Size", "Time (ms)"],
            ["save-checkpoint speed"],
            "",
            False,
        ),
        (["Seq len", "TFLOPs", "HBM"], ["Attention kernels"], "training", False),
        (["Model", "GBS", "Loss"], ["Training"], "", False),
        (["GPUs", "TP", "Sec/it"], [], "", True),
        (["Version", "Val BPB", "Step Time (ms)"], ["Iteration results"], "", True),
        (["run", "host", "params", "bpb @16K", "s/step"], ["All runs at 16K"], "", True),
        (["variant", "drift", "s/step"], ["All variants"], "", False),
        (["Run", "Kernel", "Step time (ms)", "Samples/s"], ["Epochs of the baseline"], "", True),
        (["Run", "Kernel", "Time (ms)"], ["Epochs of the baseline"], "", False),
        (["Method", "Tokens/sec", "Relative"], ["Results"], "", False),  # of no rows
        (["Model", "train_runtime", "samples/sec", "steps/sec"], ["Results"], "", True),
    ],
)
def test_a_table_of_training(headings: list[str], path: list[str], lead: str, answer: bool) -> None:
    assert is_training(headings, path, lead) is answer


def test_the_words_of_a_row_are_the_last_to_be_asked() -> None:
    headings = ["config", "sec/step", "tokens/s", "supervised tok/s"]
    assert is_training(headings, ["Throughput"], "", "inference", names="self-decode")
    # A server that decodes has steps, too.
    assert not is_training(headings[:3], ["Throughput"], "", "inference")
    assert not is_training(headings[:3], ["Throughput"], "", None, names="decode")
    assert is_training(headings[:3], ["Throughput"], "", None)


@pytest.mark.parametrize(
    ("headings", "words", "lead", "answer"),
    [
        (["variant", "ms/step"], "dots | remat=False", "All knobs of collective-scheduling.", True),
        (["", "ms/step"], "full | sparse", "", True),
        (["op", "ms/step"], "matmul | copies", "", False),
        (["what", "ms/step"], "attention | forward | backward", "", False),
        (["variant", "ms/step"], "a | b", "From a profiler trace:", False),
        (["variant", "ms"], "a | b", "", False),
    ],
)
def test_steps_are_of_training_where_the_document_is(
    headings: list[str], words: str, lead: str, answer: bool
) -> None:
    assert is_training(headings, [words], lead, "training") is answer
    assert not is_training(headings, [words], lead, None)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("FSDP 4, CP 2", {"dp_shard": 4, "cp": 2}),
        ("(tp=1, pp = 4)", {"tp": 1, "pp": 4}),
        ("z1_gas1_tmbspg14", {"zero_stage": 1, "grad_accum": 1, "mbs": 14}),
        ("Fully-sharded ZeRO 3", {"zero_stage": 3}),
        ("TP8 PP4", {"tp": 8, "pp": 4}),
        ("tp 2, later tp 4", {}),
        ("3D, v5p-128, Llama 8B, 2D + AsyncTP", {}),
        ("zero1=8", {"zero_stage": 1}),
        ("FSDP full_shard", {"zero_stage": 3}),
        ("Hybrid FULL_SHARD", {}),
        ("FSDP hybrid full_shard", {}),
        ("HYBRID_SHARD_GRAD_OP", {}),
    ],
)
def test_sizes_in_words(text: str, sizes: dict[str, int]) -> None:
    assert sizes_in(text) == sizes


@pytest.mark.parametrize(
    ("second", "answer"),
    [(("as-is benchmark", "router fusion"), True), (("3.21", "3.05"), False), (("x", "x"), False)],
)
def test_steps_that_say_what_changed_are_runs(second: tuple[str, str], answer: bool) -> None:
    headings = ["Step", "Levers", "Mean step (s)", "tok/s/GPU", "MFU"]
    rows = [["0", second[0], "6.1", "5,339", "13%"], ["1-3", second[1], "4.4", "7,463", "18%"]]
    assert is_training(headings, ["Training"], "", rows=rows) is answer


@pytest.mark.parametrize(
    ("rows", "answer"),
    [
        ([["Full FT", "1000"], ["LoRA", "950"], ["QLoRA (4-bit)", "800"]], True),
        ([["FSDP + compile", "6667"], ["DDP", "5762"]], True),
        ([["LoRA", "950"], ["llama.cpp", "800"], ["ours", "900"]], False),
        ([["Loran", "950"], ["DDPM", "800"]], False),
    ],
)
def test_rows_named_after_methods_of_training(rows: list[list[str]], answer: bool) -> None:
    assert is_training(["Method", "Tokens/sec"], ["Comparison"], "", rows=rows) is answer
    assert not is_training(["Method", "Tokens/sec", "TTFT"], ["Comparison"], "", rows=rows)
