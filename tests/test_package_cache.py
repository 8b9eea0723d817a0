"""Entries of kept answers: damaged, of pipes and holes, too many, without a cache, at once."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from pathlib import Path

import pytest

from bench.terminal import answer_cache
from bench.terminal.source import Source
from tests.kept import DOCUMENT, MARK, PAGE, entries, is_kept, mark, prepared
from tests.program import bench, quick


@pytest.fixture
def place(swept: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return prepared(swept, folder, monkeypatch)


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def _changed(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(MARK.encode(), b"X" * len(MARK)))


def _of_others(file: Path) -> None:
    file.chmod(0o666)


def _linked(file: Path) -> None:
    file.rename(file.with_suffix(".moved"))
    file.symlink_to(file.with_suffix(".moved"))


def _of_another_key(file: Path) -> None:
    content = file.read_bytes().partition(b"\n")[2].replace(b'"key": "', b'"key": "0')
    file.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


def test_a_damaged_entry_is_not_believed(place: Path) -> None:
    first = quick(place, *PAGE)
    for damage in (_cut, _changed, _of_others, _linked, _of_another_key):
        mark(place)
        assert is_kept(place, *PAGE)
        [entry] = entries(place)
        damage(entry)
        assert quick(place, *PAGE) == first, damage
        for moved in entry.parent.glob("*.moved"):
            moved.unlink()


@pytest.mark.parametrize("words", [("runs",), ("runs", DOCUMENT)], ids=" ".join)
def test_a_pipe_is_not_waited_for(place: Path, words: tuple[str, ...]) -> None:
    pipe = place / (words[1] if words[1:] else "bench.duckdb")
    pipe.unlink()
    os.mkfifo(pipe)
    done = quick(place, *words)
    assert done.code and done.err.startswith(("error", "warning")), done.text
    assert entries(place) == []


@pytest.mark.parametrize("name", [DOCUMENT, "facts.toml", "bench.toml"])
def test_a_hole_is_not_read(place: Path, name: str) -> None:
    given = {"source": Source(paths=(Path(DOCUMENT),))}
    with chdir(place):
        assert answer_cache.key("runs", given)
        with (place / name).open("wb") as file:
            file.truncate(1 << 40)
        assert answer_cache.key("runs", given) is None


def test_few_are_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "KEPT", 3)
    for number in range(5):
        quick(place, "runs", "--where", f"tp > {number}")
    assert len(entries(place)) == 3
    monkeypatch.setattr(answer_cache, "LARGEST", 10)
    quick(place, "runs")
    assert len(entries(place)) == 3


def test_no_cache_is_no_error(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = quick(place, *PAGE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    assert quick(place, *PAGE) == first


def test_programs_at_once(place: Path) -> None:
    """Whole programs that keep the same answer print what one alone prints."""
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: bench(place, *PAGE), range(3)))
    assert len(set(answers)) == 1 and answers[0].code == 0, answers[0].text
    [_] = entries(place)
    assert bench(place, *PAGE) == answers[0]
