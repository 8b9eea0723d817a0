"""Tables without the tokens/s of a job: samples/s alone, or those of a device."""

import json
from pathlib import Path

import pytest

from tests.deciding import ask
from tests.program import quick

TABLE = """\
# 275M on B300, sequence length 8192

| Global batch | Mixer | TFLOPs/GPU | TPS/GPU | MFU |
|---:|---|---:|---:|---:|
| 2 Mi | SWA | 603.7 | 406.5k | 26.83% |
| 2 Mi | GDN | 453.7 | 298.8k | 20.16% |
| 4 Mi | SWA | 570.5 | 384.1k | 25.35% |
| 4 Mi | GDN | 445.3 | 293.3k | 19.79% |
"""


@pytest.fixture
def document(folder: Path) -> str:
    (folder / "mixers.md").write_text(TABLE)
    return "mixers.md"


def test_best_ranks_them_per_device(folder: Path, document: str) -> None:
    answer = quick(folder, "best", document).out
    assert answer.startswith("Fastest per device: Global batch=2 Mi, Mixer=SWA on B300: 406,500 ")
    assert "Ranked by tokens/s of a device: no tokens/s of the job is known." in answer
    named = quick(folder, "best", document, "--by", "tokens_per_s_per_device", "--format", "json")
    rates = [row["tokens_per_s_per_device"] for row in json.loads(named.out)]
    assert rates == [406500.0, 384100.0, 298800.0, 293300.0]


def test_without_rates_the_next_measure_ranks(folder: Path, document: str) -> None:
    text = (folder / document).read_text().replace("| TPS/GPU |", "| Note |")
    (folder / document).write_text(text)
    assert quick(folder, "best", document).out.startswith("Highest MFU: ")


def test_compare_takes_their_ratio(folder: Path, document: str) -> None:
    answer = quick(folder, "compare", document, "--by", "Mixer").out
    assert "SWA is 1.31x to 1.36x faster than Mixer GDN (2 of 2 pairs" in answer
    assert "298,800 tokens/s/device" in answer


def test_a_page_leads_with_them(folder: Path, document: str) -> None:
    page = quick(folder, "report", document).out
    assert "4 with a rate of a device only" in page
    assert "- Fastest per device, B300: **406,500 tokens/s/device**, 603.7 TFLOP/s, MFU" in page


def test_explain_names_the_cell(folder: Path, document: str) -> None:
    assert "mixers:5" in quick(folder, "explain", "406.5", document).out


SAMPLES = """\
# 1.6B on 4x A100-40GB

| Strategy | Global batch size | Global throughput (samples/sec) |
|---|---:|---:|
| ddp | 160 | 11.76 |
| zero3 | 160 | 18.18 |
"""


def test_samples_rank_and_compare_where_no_sequence_length_is_stated(folder: Path) -> None:
    (folder / "strategies.md").write_text(SAMPLES)
    answer = ask(folder, "best", "strategies.md").out
    assert answer.startswith("Fastest: 4 devices, GBS 160, Strategy=zero3 on A100-40GB: 18.18 ")
    assert "Ranked by samples/s: no tokens/s" in answer
    page = ask(folder, "report", "strategies.md").out
    assert "- Fastest, A100-40GB: **18.18 samples/s**: Strategy=zero3 (strategies:6)." in page


def test_samples_follow_from_a_batch_and_a_step_time(folder: Path) -> None:
    text = SAMPLES.replace("Global throughput (samples/sec)", "Step time (s)")
    (folder / "strategies.md").write_text(text)
    ranked = json.loads(ask(folder, "best", "strategies.md", "--format", "json").out)
    assert [row["where"] for row in ranked] == ["strategies.md:5", "strategies.md:6"]


def test_samples_rank_where_they_are_asked_for(folder: Path) -> None:
    text = SAMPLES.replace("\n\n|", "\n\nSequence length 2048.\n\n|", 1)
    (folder / "strategies.md").write_text(text)
    assert ": 18.18 samples/s" in ask(folder, "best", "strategies.md", "--by", "samples_per_s").out
    none = ask(folder, "best", "strategies.md", "--by", "mem").out
    assert "no memory is known (2)" in none
