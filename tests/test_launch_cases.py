"""What a run of a plan is given: variables, labels, flags, rows of a table that have no result."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.launch.cases import expand, slug
from bench.launch.environment import full_environment, require, run_variables
from bench.launch.program import program
from bench.launch.reading import check_plan, read_plan
from bench.launch.trainer import trainer
from bench.schema.errors import BenchError
from tests.launching import expanded, write
from tests.program import quick


def test_threads_are_shared_out_unless_somebody_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.launch.environment.cores", lambda: 8)
    [case] = expanded(tmp_path, '[settings]\nmodel = "nano"\ndp = 2\ntp = 2\n').cases
    assert run_variables(case, {})["OMP_NUM_THREADS"] == "2"
    [case] = expanded(tmp_path, '[settings]\nmodel = "nano"\n[env]\nOMP_NUM_THREADS = "7"\n').cases
    assert run_variables(case, {"OMP_NUM_THREADS": "3"})["OMP_NUM_THREADS"] == "7"


def test_what_a_plan_sets_to_nothing_is_taken_from_the_shell(tmp_path: Path) -> None:
    text = '[settings]\nmodel = "nano"\n[env]\nLD_PRELOAD = ""\n'
    [case] = expanded(tmp_path, text).cases
    assert "LD_PRELOAD" not in full_environment(case, {"LD_PRELOAD": "x.so", "HOME": "/root"})


def test_a_library_that_is_not_there_is_an_error_before(tmp_path: Path) -> None:
    text = '[settings]\nmodel = "nano"\n[env]\nLD_PRELOAD = "libtcmalloc_minimal.so.99"\n'
    [case] = expanded(tmp_path, text).cases
    with pytest.raises(BenchError, match=r"libtcmalloc_minimal\.so\.99") as caught:
        require(case)
    assert "apt-get install libtcmalloc-minimal4" in caught.value.hint


def test_flags_are_a_plan_too() -> None:
    plan = check_plan({"settings": {"model": "nano", "dp": 2}}, "the command line")
    assert plan.settings.dp == 2
    with pytest.raises(BenchError) as caught:
        check_plan({"settings": {"dp": 0}}, "the command line")
    assert caught.value.where == "the command line"


def test_a_label_is_part_of_a_file_name() -> None:
    assert (
        slug("dp=2, LD_PRELOAD=/usr/lib/libjemalloc.so.2")
        == "dp-2-LD-PRELOAD-usr-lib-libjemalloc.so.2"
    )
    assert slug("../../etc, x=;rm -rf /") == "etc-x-rm-rf"
    assert slug("") == "run"


def test_rows_without_a_result_become_a_plan(root: Path, tmp_path: Path) -> None:
    table = root / "data" / "tables" / "000_fugaku_sweep.md"
    done = quick(tmp_path, "launch", "--missing", f"{table}:1")
    assert done.code == 0, done.text
    plan = read_plan(write(tmp_path, done.out, "missing.toml"))
    cases = expand(plan, trainer(plan)).cases
    wanted = [(case.settings["nodes"], case.settings["dp"], case.settings["tp"]) for case in cases]
    assert wanted == [(1, 1, 4), (256, 1024, 1), (512, 512, 4), (512, 512, 1)]
    assert cases[3].env == {"LD_PRELOAD": "libtcmalloc.so"}
    assert all(case.settings["model"] == "124m" and case.settings["gbs"] == 1024 for case in cases)
    refused = quick(tmp_path, "launch", "missing.toml")
    assert refused.code == 2 and "it needs 256 nodes; the local launcher has 1" in refused.err


def test_a_table_that_is_complete_gives_no_plan(root: Path, tmp_path: Path) -> None:
    table = root / "data" / "tables" / "003_check_tcmalloc.md"
    done = quick(tmp_path, "launch", "--missing", str(table))
    assert done.code == 2 and "no rows without a result" in done.err


def test_torchrun_starts_what_python_is_told_to_run(tmp_path: Path) -> None:
    text = 'launcher = "torchrun"\n[settings]\nmodel = "nano"\ndp = 2\n'
    plan = read_plan(write(tmp_path, text))
    [case] = expand(plan, trainer(plan)).cases
    _, *words = program(plan).command(case)
    assert words == [
        "-P", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
        "--no-python", sys.executable, "-P",
        "-m", "bench.trainer.train", "--preset", "nano", "--dp", "2",
    ]  # fmt: skip
    with pytest.raises(BenchError, match="does not support"):
        program(plan.model_copy(update={"trainer": "command"}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[settings]\nmodel = 'nano'\n[job]\nfreq = 2200\n", "`job` does not apply"),
        ("[[matrix]]\nmodel = 'nano'\njob = {freq = 2200}\n", "`job` does not apply"),
        ("[settings]\nthreads = 1\n[env]\nOMP_NUM_THREADS = '2'\n", "both threads and OMP"),
        ("[env]\nOMP_NUM_THREADS = ['2', 'abc']\n", "not a thread count: 'abc'"),
    ],
)
def test_no_label_says_what_would_not_run(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BenchError, match=told):
        read_plan(write(tmp_path, text))


def test_a_library_of_the_shell_is_not_handed_on(tmp_path: Path) -> None:
    """It would be on no label, and runs with and without it would be one configuration."""
    shell = {"LD_PRELOAD": "libtcmalloc_minimal.so.4", "HOME": "/x"}
    [case] = expanded(tmp_path, '[settings]\nmodel = "nano"\n').cases
    assert (
        "LD_PRELOAD" not in full_environment(case, shell)
        and run_variables(case, shell)["LD_PRELOAD"] == ""
    )
    named = '[settings]\nmodel = "nano"\n[env]\nLD_PRELOAD = "libm.so.6"\n'
    [case] = expanded(tmp_path, named).cases
    assert full_environment(case, shell)["LD_PRELOAD"] == "libm.so.6"


def test_another_checkout_is_another_run() -> None:
    """So are other words for it."""
    base = {"name": "x", "trainer": "command", "command": "true {dp}", "settings": {"dp": 1}}
    ids = set()
    for more in ({"path": "a"}, {"path": "b"}, {"path": "b", "arguments": ["--data-path", "y"]}):
        plan = check_plan(base, "x").model_copy(update=more)
        ids.add(expand(plan, trainer(check_plan(base, "x"))).cases[0].id)
    assert len(ids) == 3
