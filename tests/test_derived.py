"""What lines of steps tell of a run without saying it: the length of sequences."""

from __future__ import annotations

from pathlib import Path

from bench.schema.opening import open_read
from tests.making import iteration
from tests.program import quick

ARGUMENTS = """------------------------ arguments ------------------------
  seq_length ...................................... 128
-------------------- end of arguments ---------------------
"""


def length_of(folder: Path, text: str) -> tuple[int | None, bool]:
    (folder / "a.log").write_text(text)
    quick(folder, "ingest", "-q", "a.log")
    with open_read(folder / "bench.duckdb") as warehouse:
        [(length, derived)] = warehouse.rows("SELECT seq_len, seq_len_derived FROM configurations")
    return length, derived


def steps(**changes: str) -> str:
    text = "".join(iteration(n) for n in range(1, 11))
    for old, new in changes.items():
        text = text.replace(old.replace("_", " "), new)
    return text


def test_a_length_that_every_line_prints(tmp_path: Path) -> None:
    assert length_of(tmp_path, steps()) == (64, True)
    shown = quick(tmp_path, "show", "a.log:1").out
    assert "the same in 9 lines, iterations 2-10" in shown
    # What a source states counts.
    assert length_of(tmp_path, ARGUMENTS + steps()) == (128, False)


def test_consumed_tokens_over_consumed_samples(tmp_path: Path) -> None:
    """BigScience's lines print no length: 512 tokens are 8 samples of 64."""
    text = steps(actual_seqlen="sequences of").replace(" sequences of:    64 |", "")
    assert "seq" not in text
    assert length_of(tmp_path, text) == (64, True)
    # A line of another ratio: the length has changed on the way.
    other = text.replace("consumed tokens:         5120", "consumed tokens:         4608")
    assert length_of(tmp_path, other) == (None, False)


def test_a_curriculum_has_no_one_length(tmp_path: Path) -> None:
    text = "".join(iteration(n).replace("seqlen:    64", f"seqlen:{8 * n:6d}") for n in range(1, 9))
    assert length_of(tmp_path, text) == (None, False)


def test_a_record_tells_it_on(tmp_path: Path) -> None:
    assert length_of(tmp_path, steps()) == (64, True)
    quick(tmp_path, "export", "--records", "records")
    quick(tmp_path, "ingest", "-q", "records", "--db", "there.duckdb")
    with open_read(tmp_path / "there.duckdb") as warehouse:
        query = "SELECT seq_len, seq_len_derived FROM configurations"
        assert warehouse.rows(query) == [(64, True)]
        query = "SELECT count(*) FROM facts WHERE field = 'seq_len' AND how = 'derived'"
        assert warehouse.rows(query) == [(1,)]
