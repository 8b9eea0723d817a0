"""The evidence of how a run ended is the line that says so, wherever one looks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench.ingest.logs.dialect import dialects
from tests.acting import ALLOCATE, TORCHRUN
from tests.launching import ACTING, pairs, plan, preloadable, states
from tests.program import quick

pytestmark = pytest.mark.slow


def test_the_evidence_of_lost_memory_is_its_line(folder: Path) -> None:
    file = plan(folder, "memory", "allocate", "torchrun", "raise")
    assert quick(folder, "launch", str(file)).code == 1
    found = {act: (state.status, state.evidence) for act, state in states(folder).items()}
    assert found == {
        "memory": ("oom", "MemoryError"),
        "allocate": ("oom", f"RuntimeError: {ALLOCATE}"),
        "torchrun": ("oom", TORCHRUN),
        "raise": ("fail", "RuntimeError: this case fails"),
    }
    stored = pairs(folder, "SELECT status_reason, status FROM runs")
    assert stored == {evidence: status for status, evidence in found.values()}
    page = quick(folder, "report").out
    assert "4 runs: 0 with a time, 4 failed (1 fail, 3 oom)" in page
    assert "oom: MemoryError" in page


def test_a_line_of_the_launcher_is_its_own_whatever_it_quotes() -> None:
    ours = [one for one in dialects() if one.name.startswith("launch_")]
    assert all(one.exclusive for one in ours)
    for other in dialects():
        for sample in other.samples if not other.exclusive else ():
            quoted = f"bench launch ends fail: {' '.join(sample.line.split())}"
            first = next(one for one in dialects() if one.read(quoted))
            assert first.name == "launch_ended", other.name


def test_a_wrapper_that_loses_the_allocator_fails_with_what_was_mapped(folder: Path) -> None:
    library = preloadable(folder, "libjemalloc_of_ours.so")
    more = f"env = {{ LD_PRELOAD = {json.dumps(str(library))} }}"
    assert quick(folder, "launch", str(plan(folder, "pause", "clean", more=more))).code == 1
    found = states(folder)
    assert found["pause"].status == "ok", found["pause"]
    assert found["clean"].status == "fail"
    assert found["clean"].evidence.startswith(f"LD_PRELOAD asks for {library.name}, but process ")
    assert found["clean"].evidence.endswith(" had libc mapped")
    query = "SELECT value, count(*) FROM facts WHERE field = 'allocator_seen' GROUP BY value"
    assert pairs(folder, query) == {library.name: "1", "libc": "1"}


def test_a_variable_that_a_wrapper_loses_fails_the_run(folder: Path) -> None:
    more = "env = { MY_FLAG = 'on', MY_TOKEN = 'abcdef' }"
    assert quick(folder, "launch", str(plan(folder, "pause", "clean", more=more))).code == 1
    found = states(folder)
    assert found["pause"].status == "ok", found["pause"]
    assert found["clean"].status == "fail"
    assert found["clean"].evidence.startswith("MY_FLAG is on in the plan, but not in process ")
    assert "abcdef" not in found["clean"].evidence


def test_threads_of_the_shell_are_told_and_not_one_with_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = plan(folder, "well")
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        done = quick(folder, "launch", str(file))
        assert f"[1/1] act=well, OMP_NUM_THREADS={threads}" in done.err, done.text
    query = "SELECT value, count(*) FROM env_flags WHERE name = 'OMP_NUM_THREADS' GROUP BY value"
    assert pairs(folder, query) == {"1": "1", "3": "1"}
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert "[1/1] act=well, repeat 1" in quick(folder, "launch", str(file)).err


def test_a_file_and_a_folder_may_be_called_anything(folder: Path) -> None:
    odd = folder / "50% o'f $HOME"
    odd.mkdir()
    text = f"trainer = 'command'\ncommand = '{sys.executable} {ACTING} well'\n"
    (odd / "my plan.toml").write_text(text)
    assert quick(odd, "launch", "my plan.toml").code == 0
    [log] = odd.glob("launches/my-plan/*/*.log")
    assert "bench launch ends ok" in log.read_text()
