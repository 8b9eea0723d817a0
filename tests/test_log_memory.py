"""The memory of a run: what tables print of it, of a log the peak of its fullest device."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from tests.deciding import answer
from tests.making import iteration
from tests.program import quick

PEAK = (
    "[Rank {rank}] (after {n} iterations) memory (MB) | allocated: 500.00 |"
    " max allocated: {peak} | reserved: 900.00 | max reserved: 990.00\n"
)
ARGUMENTS = """------------------------ arguments ------------------------
  hidden_size ..................................... 1024
  num_layers ...................................... 24
  num_attention_heads ............................. 16
  padded_vocab_size ............................... 50304
  world_size ...................................... 2
  micro_batch_size ................................ {mbs}
-------------------- end of arguments ---------------------
"""
HOST = (
    "[Rank 0] (after 1 iterations) CPU memory (MB) | used: 2103.1 | total: 24105.56"
    " | avail: 22002.46 | used percent: 8.72 | max rss: 312.51\n"
)


def steps(number: int, *between: str) -> str:
    return "".join(map(iteration, range(1, number))) + "".join(between) + iteration(number)


def of(folder: Path, text: str) -> list[tuple[object, ...]]:
    """What `measured` has as memory of a log with this text."""
    (folder / "a.log").write_text(text)
    query = "SELECT value, unit, reading, scope, line FROM measured WHERE metric = 'memory'"
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder / "a.log"], folder)
        return warehouse.rows(query)


def test_the_largest_reading_over_ranks_and_steps_counts(tmp_path: Path) -> None:
    readings = [(0, 700.25), (1, 801.5), (0, 801.5), (1, 650.0)]
    printed = [PEAK.format(rank=rank, n=2, peak=peak) for rank, peak in readings]
    assert of(tmp_path, steps(3, *printed)) == [(801.5, "MiB", "max_allocated", "device", 4)]


def test_the_memory_of_losses_that_come_late(tmp_path: Path) -> None:
    """axolotl-ai-cloud/axolotl issue 3196: dicts alone, or each above or below a bar."""
    dicts = [
        f"{{'loss': {4 - n}.75, 'learning_rate': 5e-06, 'memory/max_mem_allocated(gib)': {n}5.45, "
        f"'epoch': {n}.0}}\n"
        for n in range(1, 4)
    ]
    bars = [f" 10%|#     | {n}/3 [00:30<01:10,  1.00s/it]\n" for n in range(1, 4)]
    for text in ("".join(dicts), dicts[0] + "".join(map("".join, zip(bars, dicts, strict=True)))):
        [found] = of(tmp_path, text)
        assert found[:3] == (35.45, "GiB", "max_allocated")


@pytest.mark.parametrize(("left", "reading", "value"), [
    ("allocated: 500.00 | reserved: 900.00 | max reserved: 990.00", "max_reserved", 990.0),
    ("allocated: 500.00 | reserved: 900.00", "allocated", 500.0),
    ("allocated: 500.00 | max allocated: 1e20 | reserved: 900.00", "allocated", 500.0),
    ("allocated: 500.00 | max allocated: nan | reserved: 900.00 | max reserved: 990.00",
     "max_reserved", 990.0),
])  # fmt: skip
def test_without_a_peak_of_what_is_allocated_the_next_best_counts(
    tmp_path: Path, left: str, reading: str, value: float
) -> None:
    (tmp_path / "a.log").write_text(steps(3))
    kinds = {"max allocated": "max_allocated", "max reserved": "max_reserved"}
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "a.log"], tmp_path)
        for part in left.split(" | "):
            name, number = part.split(": ")
            warehouse.con.execute(
                "INSERT INTO raw.memory SELECT load_id, run_id, 1, 2, 0, ?, ?, 'MiB' FROM raw.runs",
                [kinds.get(name, name), float(number)],
            )
        query = "SELECT reading, value FROM measured WHERE metric = 'memory'"
        assert warehouse.rows(query) == [(reading, value)]


def test_readings_in_several_units_compare_by_bytes(tmp_path: Path) -> None:
    deepspeed = "MA 1.0 GB         Max_MA 2.0 GB         CA 3.0 GB         Max_CA 3 GB\n"
    before = "[2022-10-29 00:42:03,420] [INFO] [utils.py:828:see_memory_usage] "
    found = of(tmp_path, steps(3, PEAK.format(rank=0, n=2, peak=1999.0), before + deepspeed))
    assert found == [(2.0, "GiB", "max_allocated", "device", 4)]


def test_memory_of_the_host_is_none_of_a_device(tmp_path: Path) -> None:
    assert of(tmp_path, steps(3, HOST)) == []
    both = of(tmp_path, steps(3, HOST, PEAK.format(rank=0, n=2, peak=700.0)))
    assert [row[:2] for row in both] == [(700.0, "MiB")]


def test_answers_know_the_memory_of_logs(tmp_path: Path) -> None:
    for mbs, peak in ((1, 1000.0), (2, 2500.5)):
        text = ARGUMENTS.format(mbs=mbs) + steps(4, PEAK.format(rank=0, n=3, peak=peak))
        (tmp_path / f"mbs{mbs}.log").write_text(text)
    rows = answer(tmp_path, "best", "mbs1.log", "mbs2.log", "--by", "mem")
    assert [row["memory_gb"] for row in rows] == [
        pytest.approx(peak * 1.048576e-3) for peak in (1000.0, 2500.5)
    ]
    told = quick(tmp_path, "explain", "mbs2:1.memory", "mbs2.log").out
    assert "2,500" in told and "mbs2:12" in told, told
    assert "the largest max_allocated that the log prints" in told


def test_a_run_is_shown_with_its_memory(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(steps(3, PEAK.format(rank=0, n=2, peak=801.5)))
    assert quick(tmp_path, "ingest", "-q", "a.log").code == 0
    shown = quick(tmp_path, "show", "a.log", "--format", "md").out
    [row] = [line for line in shown.splitlines() if "| memory " in line]
    assert "801.5 (largest max_allocated)" in row and "MiB" in row and "a.log:3" in row, row


def test_the_memory_of_a_forgotten_log_is_hidden(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(steps(3, PEAK.format(rank=0, n=2, peak=801.5)))
    counted = "SELECT count(*) FROM measured WHERE metric = 'memory'"
    for words, expected in (("ingest -q", "1"), ("forget", "0"), ("forget --undo", "1")):
        assert quick(tmp_path, *words.split(), "a.log").code == 0
        assert quick(tmp_path, "sql", counted, "--format", "csv").out.split()[-1] == expected, words
