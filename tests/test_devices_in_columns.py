"""Columns that name devices, files or instances under headings of something else."""

from bench.ingest.documents.tables import read_markdown
from tests.documents import runs

TITLE = "# Training a 7B model on 8 A100 80GB\n\n"


def test_a_device_is_the_one_known_and_not_its_instance() -> None:
    first, second = runs(
        f"{TITLE}| GPU setup | Instance | Tok/s | Step time |\n|--|--|--|--|\n"
        "| H100 80GB (no compile) | `a3-highgpu-1g` | 43700 | 6.0 s |\n"
        "| 4×L4 FSDP2 | `ml.g6.12xlarge` | 10750 | 24.4 s |\n"
    )
    # The title's devices are other ones.
    assert (first["device"], first.get("devices")) == ("H100 80GB", None)
    assert (second["device"], second["devices"]) == ("L4", 4)


def test_an_instance_alone_is_the_device() -> None:
    [run] = runs(
        f"{TITLE}| Instance | Tok/s | Step time |\n|--|--|--|\n| `p5.48xlarge` | 9 | 6 s |\n"
    )
    assert run["device"] == "p5.48xlarge"


def test_links_name_no_devices() -> None:
    [run] = runs(
        f"{TITLE}| Recipe | Tok/s | Step time |\n|--|--|--|\n"
        "| [7B](https://example.org/h100/7b) | 43700 | 6.0 s |\n"
    )
    assert run["devices"] == 8


def test_the_size_of_a_file_is_no_model() -> None:
    first, second = runs(
        f"{TITLE}| Method | Peak memory | Tok/s | Model size |\n|--|--|--|--|\n"
        "| LoRA | 5.2 GB | 900 | ~50 MB |\n| Full | 8.2 GB | 800 | 1.2 GB |\n"
    )
    assert "MB" not in str(first.get("model")) and "GB" not in str(second.get("model"))


def test_repeats_are_no_devices_and_a_label_in_the_text_decides_a_scope() -> None:
    """`rep` hid the machines of the text; FLOPs over the parameters of its 7B show the scope."""
    table = (
        "| Backend | rep | step time (s) | TFLOPS/GPU | tokens/s |\n|---|---|---|---|---|\n"
        "| RCCL | 1 | 0.3632 | 128.84 | 22558 |\n| RCCL | 2 | 0.3645 | 128.36 | 22475 |\n"
    )
    text = "Config for all rows: Qwen-7B, bf16, seq_len 1024, micro-batch 1, 2 nodes x 4 GPU.\n\n"
    found = read_markdown(f"# Training with FSDP2\n\n{text}{table}", "page")[0].by_table
    sizes = [(one["nodes"], one["devices_per_node"], one["mbs"]) for one in found["topology"]]
    assert sizes == [(2, 4, 1)] * 2
    rates = [one for one in found["measurements"] if one["metric"] == "tokens_per_s"]
    assert [one["scope"] for one in rates] == ["job", "job"]
    assert "warnings" not in found or not found["warnings"]
