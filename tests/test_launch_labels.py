"""What the label of a run says is what ran: threads, allocators, names, processes over nodes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.launch.cases import Case, Expansion, expand
from bench.launch.environment import chosen, require
from bench.launch.reading import check_plan, read_plan, with_shell
from bench.launch.trainers import trainer
from bench.launch.witness import Sight, Witness, allocators, belied, shell, told
from bench.schema.errors import BenchError
from tests.launching import preloadable


def write(folder: Path, text: str, name: str = "sweep.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def expanded(folder: Path, text: str) -> Expansion:
    plan = read_plan(write(folder, text))
    return expand(plan, trainer(plan))


def test_threads_of_the_shell_are_part_of_what_a_run_is(tmp_path: Path) -> None:
    """They would be on no label, and runs with two and with three threads one configuration."""
    plan = read_plan(write(tmp_path, '[settings]\nmodel = "nano"\ndp = [1, 2]\n'))
    seen = set()
    for threads in ("2", "3"):
        with_ = with_shell(plan, {"OMP_NUM_THREADS": threads})
        cases = expand(with_, trainer(with_), ["OMP_NUM_THREADS"]).cases
        assert [case.label for case in cases] == [
            f"dp={dp}, OMP_NUM_THREADS={threads}" for dp in (1, 2)
        ]
        assert all(chosen(case, {})["OMP_NUM_THREADS"] == threads for case in cases)
        seen |= {case.id for case in cases}
    assert len(seen) == 4
    for said in ("[env]\nOMP_NUM_THREADS = '1'\n", "threads = 1\n"):
        plan = read_plan(write(tmp_path, f'[settings]\nmodel = "nano"\n{said}'))
        assert with_shell(plan, {"OMP_NUM_THREADS": "3"}) is plan
    with pytest.raises(BenchError, match="no number of threads: 'many'"):
        with_shell(check_plan({"settings": {"model": "nano"}}, "x"), {"OMP_NUM_THREADS": "many"})


def test_threads_of_a_login_node_are_not_those_of_a_job(tmp_path: Path) -> None:
    text = 'launcher = "slurm"\n[settings]\nmodel = "nano"\n'
    plan = read_plan(write(tmp_path, text))
    assert with_shell(plan, {"OMP_NUM_THREADS": "3"}) is plan
    [case] = expand(plan, trainer(plan)).cases
    assert chosen(case, {"OMP_NUM_THREADS": "3"}, here=False) == {"OMP_NUM_THREADS": ""}, "unset"


@pytest.mark.parametrize(
    ("file", "name"),
    [("my plan.toml", "my-plan"), ("50% of it.toml", "50-of-it"), ("tp_pp.toml", "tp_pp"),
     ("-.toml", "run")],
)  # fmt: skip
def test_a_plan_may_be_called_anything(tmp_path: Path, file: str, name: str) -> None:
    assert read_plan(write(tmp_path, '[settings]\nmodel = "nano"\n', file)).name == name


def test_processes_that_do_not_fill_the_nodes_are_dropped(tmp_path: Path) -> None:
    text = 'launcher = "pjm"\n[settings]\nmodel = "nano"\nnodes = 2\ndp = [2, 3]\n'
    [dropped] = expanded(tmp_path, text).dropped
    why = "DP 3 x TP 1 x PP 1 = 3 processes do not divide among 2 nodes: 3 % 2 = 1"
    assert dropped.why == why


def test_a_library_is_looked_for_where_the_run_will_look(tmp_path: Path) -> None:
    library = preloadable(tmp_path / "lib", "libof_ours.so")
    text = f'[settings]\nmodel = "nano"\n[env]\nLD_PRELOAD = "{library.name}"\n'
    [case] = expanded(tmp_path, text).cases
    with pytest.raises(BenchError, match=library.name):
        require(case)
    [case] = expanded(tmp_path, f'{text}LD_LIBRARY_PATH = "{library.parent}"\n').cases
    require(case)


def preloading(**env: str) -> Case:
    return Case({}, env, {}, {}, "0")


def sight(pid: int, megabytes: int, *libraries: str, threads: str | None = None) -> Sight:
    return Sight(pid, megabytes << 10, threads, frozenset(libraries))


def test_every_process_that_trains_has_to_have_the_allocator() -> None:
    case = preloading(LD_PRELOAD="/opt/libtcmalloc_minimal.so.4")
    shell_ = sight(1, 3, "libc.so.6")
    with_ = sight(2, 700, "libtcmalloc_minimal.so.4.5.10", "libc.so.6")
    assert belied(case, [shell_, with_]) is None
    assert allocators([shell_, with_]) == "libtcmalloc_minimal.so.4.5.10"
    without = sight(3, 690, "libtcmalloc_minimal_debug.so.4", "libc.so.6")
    assert belied(case, [shell_, with_, without]) == (
        "LD_PRELOAD asks for libtcmalloc_minimal.so.4, but process 3, which held 690 MB, "
        "had libtcmalloc_minimal_debug.so.4 mapped"
    )


def test_threads_that_a_wrapper_set_belie_the_label() -> None:
    case = preloading(OMP_NUM_THREADS="4")
    assert belied(case, [sight(1, 9, threads="4")]) is None
    assert belied(case, [sight(1, 9, threads="1")]) == (
        "OMP_NUM_THREADS = 4, but process 1, which held 9 MB, had 1"
    )


PROGRAM = "import sys, time; held = b'x' * (64 << 20); print(flush=True); time.sleep(20)"


def test_here_and_in_a_job_the_same_is_seen(tmp_path: Path) -> None:
    """What a script sees of its command is what we see of the same process."""
    library = preloadable(tmp_path, "libjemalloc_of_ours.so")
    case = preloading(LD_PRELOAD=str(library))
    seen = tmp_path / "seen by it"
    words = [sys.executable, "-c", PROGRAM]
    script = "\n".join([*shell("token-1", case, seen), 'exec "$@"'])
    env = {"BENCH_LAUNCH_RUN": "token-1", "OMP_NUM_THREADS": "3", "LD_PRELOAD": str(library)}
    command = ["sh", "-c", script, "sh", *words]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stdout.readline()
        witness = Witness()
        witness.look(running.pid)
        until = time.monotonic() + 10
        while not told(seen) and time.monotonic() < until:
            time.sleep(0.1)
        running.kill()
    [ours], theirs = witness.sights(), {one.pid: one for one in told(seen)}[running.pid]
    assert theirs.pid == ours.pid and theirs.threads == ours.threads == "3"
    assert theirs.allocator == ours.allocator == library.name
    assert theirs.peak_kb >= 64 << 10 and ours.peak_kb >= 64 << 10
    assert belied(case, [ours]) is None and belied(case, [theirs]) is None
    other = preloading(LD_PRELOAD="libtcmalloc.so.4")
    assert str(belied(other, [theirs])).endswith(f"had {library.name} mapped")
