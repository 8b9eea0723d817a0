"""Plans: what is read, what is refused and where, what combinations they come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.launch.cases import expand
from bench.launch.plan import json_schema
from bench.launch.planned_runs import planned_runs
from bench.launch.reading import read_plan
from bench.launch.trainer import trainer
from bench.schema.errors import BenchError
from tests.launching import expanded, write

PLAN = """
repeats = 2
constraints = ["dp * tp <= 4", "(heads / tp) * mbs % 4 = 0"]

[settings]
model = "nano"
dp = [1, 2]
tp = [1, 2, 3]
mbs = [1, 2]
gbs = 8

[env]
LD_PRELOAD = ["", "libjemalloc.so.2"]

[limits]
time_s = 60
"""


def test_the_schema_is_published(root: Path) -> None:
    published = (root / "docs" / "plan.schema.json").read_text("utf-8")
    assert published == json_schema(), "make generate"


def test_a_plan_is_named_after_its_file(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, PLAN))
    assert (plan.name, plan.repeats, plan.limits.time_s, plan.limits.idle_s) == (
        "sweep", 2, 60.0, 600.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("dp = [1, 2]", "dpp = [1, 2]", 7, "did you mean"),
        ("dp = [1, 2]", 'dp = "2"', 7, "'2': "),
        ("dp = [1, 2]", "dp = [1, 0]", 7, "it must be at least 1"),
        ("dp = [1, 2]", "dp = []", 7, "at least 1 item"),
        ("repeats = 2", "repeats = 0", 2, "it must be at least 1"),
        ("time_s = 60", "times = 60", 16, "did you mean 'time_s'"),
        ("time_s = 60", "time_s = inf", 16, "finite"),
        ("repeats = 2", "repeats = ", 2, "not valid TOML"),
        ("repeats = 2", 'trainer = "command"', 2, "require each other"),
        ("repeats = 2", 'trainer = "torch"', 2, "trainer"),
        ("[env]", "[enw]", 12, "did you mean 'env'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, told: str
) -> None:
    with pytest.raises(BenchError) as caught:
        read_plan(write(tmp_path, PLAN.replace(old, new)))
    assert caught.value.where.endswith(f"sweep.toml:{line}"), caught.value
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("word", "value"),
    [("settings.lr", "true"), ("limits.time_s", '"300"'), ("limits.idle_s", "true")],
)
def test_a_switch_or_a_text_is_no_number(tmp_path: Path, word: str, value: str) -> None:
    with pytest.raises(BenchError) as caught:
        read_plan(write(tmp_path, f'settings.model = "nano"\n{word} = {value}\n'))
    assert word in str(caught.value) and caught.value.where.endswith(":2")
    read_plan(write(tmp_path, f'settings.model = "nano"\n{word} = 3\n'))


def test_a_value_that_is_said_again_makes_no_combination(tmp_path: Path) -> None:
    """2^60 combinations of which all are one: they must not be gone through."""
    template = "".join(f"{{a{n}}}" for n in range(60))
    values = "".join(f"a{n} = [1, 1]\n" for n in range(60))
    text = f'trainer = "command"\ncommand = "echo {template}"\n[values]\n{values}'
    [case] = expanded(tmp_path, text.replace("a0 = [1, 1]", "a0 = [true, true]")).cases
    assert case.values["a0"] is True and case.values["a1"] == 1


@pytest.mark.parametrize("text", ["", "repeats = 3\n", "[settings]\n"])
def test_a_plan_that_says_nothing_of_a_run_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BenchError, match="has no settings"):
        read_plan(write(tmp_path, text))


def test_the_line_is_that_of_the_right_matrix(tmp_path: Path) -> None:
    text = "[settings]\ndp = 1\n[[matrix]]\ndp = 1\n[[matrix]]\ntp = 2\ndp = 0\n"
    with pytest.raises(BenchError) as caught:
        read_plan(write(tmp_path, text))
    assert caught.value.where.endswith(":7")


def test_every_combination_runs_or_is_dropped_for_a_reason(tmp_path: Path) -> None:
    found = expanded(tmp_path, PLAN)
    assert len(found.cases) + len(found.dropped) == 2 * 3 * 2 * 2
    why = {one.case.label: one.why for one in found.dropped}
    assert why["dp=2, tp=3, mbs=1, LD_PRELOAD="].startswith("dp * tp <= 4 is false (dp 2, tp 3")
    assert "(heads 4, tp 2, mbs 1)" in why["dp=1, tp=2, mbs=1, LD_PRELOAD="]
    assert {case.settings["tp"] for case in found.cases} == {1, 2}
    assert all(case.facts["heads"] == 4 for case in found.cases)


def test_what_the_trainer_refuses_is_dropped_in_its_words(tmp_path: Path) -> None:
    found = expanded(tmp_path, '[settings]\nmodel = "nano"\ntp = [1, 3]\n')
    [dropped] = found.dropped
    assert dropped.why == "4 heads do not divide among TP 3: 4 % 3 = 1"


def test_fp16_is_refused_where_there_is_no_loss_scale(tmp_path: Path) -> None:
    for name in ("reference", "deepspeed"):
        text = f'trainer = "{name}"\n[settings]\nmodel = "nano"\ndtype = ["fp32", "fp16"]\n'
        [dropped] = expanded(tmp_path, text).dropped
        assert dropped.case.label == "dtype=fp16"
        assert "does not support fp16 (no loss scaling)" in dropped.why


def test_what_the_engine_refuses_is_dropped_in_its_words(tmp_path: Path) -> None:
    settings = 'model = "nano"\ngbs = 4\ndp = 2\ndtype = "bf16"\n'
    matrix = 'params_dtype = ["fp32", "bf16"]\noverlap_grad_reduce = [false, true]\n'
    found = expanded(tmp_path, f'trainer = "deepspeed"\n[settings]\n{settings}{matrix}')
    assert len(found.cases) == 1
    why = {one.why for one in found.dropped}
    assert why == {"DeepSpeed's engine has its own overlap, and parameters in fp32 here"}


def test_what_is_the_same_run_runs_once_and_claims_no_schedule(tmp_path: Path) -> None:
    """At PP 1 both schedules are one thing; so is a size that is left to its default."""
    text = """
    constraints = ["schedule = '1f1b' or dp = 1"]
    [settings]
    model = "nano"
    [[matrix]]
    pp = [1, 2]
    dp = [1, 2]
    schedule = ["1f1b", "gpipe"]
    gbs = 8
    [[matrix]]
    dp = 2
    gbs = 8
    schedule = "1f1b"
    mbs = [1, 2]
    """
    found = expanded(tmp_path, text)
    assert [case.label for case in found.cases] == [
        "dp=1, pp=1", "dp=1, pp=2, schedule=1f1b", "dp=1, pp=2, schedule=gpipe",
        "dp=2, pp=1", "dp=2, pp=2, schedule=1f1b", "dp=2, mbs=2",
    ]  # fmt: skip
    one_stage = "schedule has no effect with PP 1"
    assert {one.case.label: one.why.partition(" is false")[0] for one in found.dropped} == {
        "dp=1, pp=1, schedule=gpipe": f"{one_stage}: duplicate of dp=1, pp=1",
        "dp=2, pp=1, schedule=gpipe": "schedule = '1f1b' or dp = 1",
        "dp=2, pp=2, schedule=gpipe": "schedule = '1f1b' or dp = 1",
        "dp=2, schedule=1f1b, mbs=1": f"{one_stage}: duplicate of dp=2, pp=1",
    }
    assert all("schedule" not in case.settings for case in found.cases if "pp=2" not in case.label)


def test_the_axes_of_experts_and_sequences_are_swept(tmp_path: Path) -> None:
    text = """
    [settings]
    model = "moe-nano"
    layers = 4
    gbs = 8
    [[matrix]]
    cp = [1, 2]
    ep = [1, 2]
    [[matrix]]
    pp = 2
    vpp = 2
    overlap_grad_reduce = [true, false]
    """
    found = expanded(tmp_path, text)
    assert [case.label for case in found.cases] == [
        "cp=1, ep=1",
        "cp=2, ep=1",
        "cp=2, ep=2",
        "pp=2, vpp=2",
    ]
    assert [one.why.partition(":")[0] for one in found.dropped] == [
        "DP 1 x CP 1 = 1 does not divide into groups of EP 2",
        "overlap_grad_reduce has no effect with DP 1 and CP 1",
    ]
    names = ("ranks", "cp", "ep", "pp", "vpp", "experts")
    assert [tuple(case.facts.get(name) for name in names) for case in found.cases] == [
        (1, 1, 1, 1, None, 4), (2, 2, 1, 1, None, 4), (2, 2, 2, 1, None, 4), (2, 1, 1, 2, 2, 4),
    ]  # fmt: skip


def test_a_default_that_is_written_out_makes_no_other_run(tmp_path: Path) -> None:
    text = '[settings]\nmodel = "nano"\n[[matrix]]\ndp = [1, 2]\n[[matrix]]\ntp = [1, 2]\n'
    found = expanded(tmp_path, text)
    assert [case.label for case in found.cases] == ["dp=1", "dp=2", "tp=2"]
    [dropped] = found.dropped
    assert (dropped.case.label, dropped.why) == ("tp=1", "duplicate of dp=1")


def test_a_plan_of_nothing_is_an_error_with_the_reasons(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no combination can run") as caught:
        expanded(tmp_path, '[settings]\nmodel = "nanno"\n')
    assert "invalid choice: 'nanno'" in caught.value.why


def test_several_products_stand_on_common_settings(tmp_path: Path) -> None:
    text = """
    [settings]
    model = "nano"
    [[matrix]]
    dp = [1, 2]
    [[matrix]]
    tp = 2
    dp = 1
    [[matrix]]
    dp = 2
    """
    cases = expanded(tmp_path, text).cases
    assert [(c.settings["dp"], c.settings.get("tp")) for c in cases] == [
        (1, None), (2, None), (1, 2),
    ]  # fmt: skip


def test_a_run_is_known_by_what_it_is_not_by_its_plan(tmp_path: Path) -> None:
    one = expanded(tmp_path, '[settings]\nmodel = "nano"\ndp = 2\ntp = 1\n').cases
    other = expanded(
        tmp_path, 'repeats = 3\n[settings]\ntp = 1\ndp = [1, 2]\nmodel = "nano"\n'
    ).cases
    assert {case.id for case in one} < {case.id for case in other}


def test_repeats_take_turns_and_each_round_turns_round(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, 'repeats = 3\n[settings]\nmodel = "nano"\ndp = [1, 2]\n'))
    found = expand(plan, trainer(plan))
    order = [(t.repeat, t.case.settings["dp"]) for t in planned_runs(plan, found.cases, tmp_path)]
    assert order == [(1, 1), (1, 2), (2, 2), (2, 1), (3, 1), (3, 2)]


def test_a_template_takes_the_words_of_the_plan(tmp_path: Path) -> None:
    text = """
    trainer = "command"
    command = "mpirun -np {ranks} python 'my train.py' --clock={clock} --tp {tp}"
    [settings]
    dp = 2
    tp = 2
    [values]
    clock = "2 GHz"
    """
    plan = read_plan(write(tmp_path, text))
    [case] = expand(plan, trainer(plan)).cases
    assert trainer(plan).command(case.requested, case.facts) == [
        "mpirun", "-np", "4", "python", "my train.py", "--clock=2 GHz", "--tp", "2",
    ]  # fmt: skip


def test_a_template_that_names_something_else_is_refused(tmp_path: Path) -> None:
    text = 'trainer = "command"\ncommand = "run {clokc}"\nvalues = { clock = 1 }\n'
    with pytest.raises(BenchError, match="clokc") as caught:
        expanded(tmp_path, text)
    assert "did you mean 'clock'" in caught.value.hint
