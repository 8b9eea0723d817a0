"""What the label of a run says is what ran: threads, allocators, names, processes over nodes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.launch.cases import Case, expand
from bench.launch.environment import mismatch as contradicted
from bench.launch.environment import require, run_variables
from bench.launch.process_probe import (
    Observation,
    ProcessProbe,
    allocators,
    mismatch,
    read_observations,
    shell_probe,
)
from bench.launch.reading import check_plan, read_plan, with_shell
from bench.launch.trainer import trainer
from bench.schema.errors import BenchError
from bench.trainer.environment import LABEL, line
from tests.launching import expanded, preloadable, write
from tests.program import quick


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
        assert all(run_variables(case, {})["OMP_NUM_THREADS"] == threads for case in cases)
        seen |= {case.id for case in cases}
    assert len(seen) == 4
    for said in ("[env]\nOMP_NUM_THREADS = '1'\n", "threads = 1\n"):
        plan = read_plan(write(tmp_path, f'[settings]\nmodel = "nano"\n{said}'))
        assert with_shell(plan, {"OMP_NUM_THREADS": "3"}) is plan
    with pytest.raises(BenchError, match="not a thread count: 'many'"):
        with_shell(check_plan({"settings": {"model": "nano"}}, "x"), {"OMP_NUM_THREADS": "many"})


def test_threads_of_a_login_node_are_not_those_of_a_job(tmp_path: Path) -> None:
    text = 'launcher = "slurm"\n[settings]\nmodel = "nano"\n'
    plan = read_plan(write(tmp_path, text))
    assert with_shell(plan, {"OMP_NUM_THREADS": "3"}) is plan
    [case] = expand(plan, trainer(plan)).cases
    assert run_variables(case, {"OMP_NUM_THREADS": "3"}, is_local=False) == {
        "OMP_NUM_THREADS": ""
    }, "unset"


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


def sight(pid: int, megabytes: int, *libraries: str, threads: str | None = None) -> Observation:
    return Observation(pid, megabytes << 10, threads, frozenset(libraries))


def test_every_process_that_trains_has_to_have_the_allocator() -> None:
    case = preloading(LD_PRELOAD="/opt/libtcmalloc_minimal.so.4")
    shell_ = sight(1, 3, "libc.so.6")
    with_ = sight(2, 700, "libtcmalloc_minimal.so.4.5.10", "libc.so.6")
    assert mismatch(case, [shell_, with_]) is None
    assert allocators([shell_, with_]) == "libtcmalloc_minimal.so.4.5.10"
    without = sight(3, 690, "libtcmalloc_minimal_debug.so.4", "libc.so.6")
    assert mismatch(case, [shell_, with_, without]) == (
        "LD_PRELOAD asks for libtcmalloc_minimal.so.4, but process 3 (690 MB) "
        "had libtcmalloc_minimal_debug.so.4 mapped"
    )


def test_threads_that_a_wrapper_set_belie_the_label() -> None:
    case = preloading(OMP_NUM_THREADS="4")
    assert mismatch(case, [sight(1, 9, threads="4")]) is None
    assert mismatch(case, [sight(1, 9, threads="1")]) == (
        "OMP_NUM_THREADS = 4, but process 1 (9 MB) had 1"
    )


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"NCCL_ALGO": "Ring", "FOO": "1"}, None),
        ({"NCCL_ALGO": "Tree"}, "NCCL_ALGO is Tree in the plan, but Ring in the process"),
        ({"NCCL_NTHREADS": "4"}, "NCCL_NTHREADS is 4 in the plan, but unset in the process"),
        ({"NCCL_ALGO": ""}, "NCCL_ALGO is unset in the plan, but Ring in the process"),
        ({"NCCL_PROTO": "", "OMP_NUM_THREADS": "", "NCCL_AUTH_KEY": "x"}, None),
        ({"NCCL_OTHER_KEY": "x"}, "NCCL_OTHER_KEY is [redacted] in the plan, but unset in the"),
    ],
)
def test_a_variable_of_the_plan_has_to_be_on_the_record(
    tmp_path: Path, env: dict[str, str], expected: str | None
) -> None:
    flags = {"NCCL_ALGO": "Ring", "OMP_NUM_THREADS": "2", "NCCL_AUTH_KEY": "[redacted]"}
    record = {"allocator": "libc", "threads": 2, "flags": flags, "flags_like": ["NCCL_", "OMP_"]}
    log = tmp_path / "run.log"
    log.write_text(f"environment: {json.dumps(record)}\n")
    found = contradicted(preloading(**env), log)
    assert found is None if expected is None else str(found).startswith(expected), found


def test_the_reference_trainer_says_which_variables_it_lists() -> None:
    record = json.loads(line({}, 1).removeprefix(LABEL))
    assert all(name.startswith(tuple(record["flags_like"])) for name in record["flags"])
    assert {"NCCL_", "OMP_", "LD_PRELOAD"} <= set(record["flags_like"])


PROGRAM = "import sys, time; held = b'x' * (64 << 20); print(flush=True); time.sleep(20)"


def test_here_and_in_a_job_the_same_is_seen(tmp_path: Path) -> None:
    """What a script sees of its command is what we see of the same process."""
    library = preloadable(tmp_path, "libjemalloc_of_ours.so")
    asked = {"KEPT": "it's 1", "CHANGED": "2", "LOST": "1", "LEFT": "", "UNSET": ""}
    case = preloading(LD_PRELOAD=str(library), **asked)
    seen = tmp_path / "seen by it"
    words = [sys.executable, "-c", PROGRAM]
    script = "\n".join([*shell_probe("token-1", case, seen), 'exec "$@"'])
    env = {"BENCH_LAUNCH_RUN": "token-1", "OMP_NUM_THREADS": "3", "LD_PRELOAD": str(library)}
    env |= {"KEPT": "it's 1", "CHANGED": "1", "LEFT": "1"}
    command = ["sh", "-c", script, "sh", *words]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stdout.readline()
        probe = ProcessProbe(case.env)
        probe.observe(running.pid)
        until = time.monotonic() + 10
        while not read_observations(seen) and time.monotonic() < until:
            time.sleep(0.1)
        running.kill()
    [ours], theirs = (
        probe.observations(),
        {one.pid: one for one in read_observations(seen)}[running.pid],
    )
    assert theirs.pid == ours.pid and theirs.threads == ours.threads == "3"
    assert theirs.allocator == ours.allocator == library.name
    assert theirs.peak_kb >= 64 << 10 and ours.peak_kb >= 64 << 10
    assert theirs.lost == ours.lost == {"CHANGED", "LOST", "LEFT"}
    assert str(mismatch(case, [ours])).startswith("CHANGED is 2 in the plan, but not in process ")
    label = preloading(LD_PRELOAD=str(library))
    assert mismatch(label, [ours]) is None and mismatch(label, [theirs]) is None
    other = preloading(LD_PRELOAD="libtcmalloc.so.4")
    assert str(mismatch(other, [theirs])).endswith(f"had {library.name} mapped")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--model nano --repeats 0", "0: it must be at least 1"),
        ("--model nano --set model=tiny", "model is set twice, with --set and --model"),
        ("--model nano --set mbs=1 --set mbs=2", "mbs is set twice, with --set"),
        ("--model nano --env A=1 --env A=2", "A is set twice, with --env"),
        ("--set model", "--set expects NAME=VALUE, not 'model'"),
        ("--set model=nanno", "invalid choice: 'nanno'"),
        ("--set modle=nano", "did you mean 'model'"),
        ("x.toml --repeats 0", "a plan cannot be combined"),
        ("--missing x.md:1 --dp 2 --retry", "--missing cannot be combined with --dp, --retry"),
        ("x.toml --missing x.md", "--missing cannot be combined with PLAN"),
        ("--missing x.md --time-limit 3", "--missing cannot be combined with --time-limit"),
    ],
)
def test_flags_that_say_nothing_or_two_things_are_told(
    folder: Path, words: str, expected: str
) -> None:
    done = quick(folder, "launch", *words.split(), *(() if "--missing" in words else ["--dry-run"]))
    assert done.code == 2 and expected in done.err, done.text


def test_a_preset_may_be_set_like_any_other_setting(folder: Path) -> None:
    done = quick(folder, "launch", "--set", "model=10m", "--set", "mbs=2", "--dry-run")
    assert done.code == 0 and "--preset 10m --mbs 2" in done.out


def test_a_dry_run_of_jobs_shows_their_scripts(folder: Path) -> None:
    text = 'launcher = "slurm"\nrepeats = 2\n[settings]\nmodel = "nano"\n[job]\naccount = "proj"\n'
    file = write(folder, text + 'token = "abcdef123456"\n')
    done = quick(folder, "launch", str(file), "--dry-run")
    assert "#SBATCH --array=0-1" in done.out and "#SBATCH --account=proj" in done.out
    assert "# 2 runs: sbatch --parsable " in done.out and "1) exec sh " in done.out
    assert "abcdef123456" not in done.text and "--token=[redacted]" in done.out
    assert not (folder / "launches").exists()
