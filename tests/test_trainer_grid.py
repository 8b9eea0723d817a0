"""The reference trainer's sizes without torch: which fit together, who stands where."""

import pytest

from bench.trainer.grid import Grid, GridError
from bench.trainer.options import parse
from bench.trainer.presets import PRESETS, Shape

# The grid


@pytest.mark.parametrize(
    ("grid", "numbers"),
    [
        (lambda: Grid(2, 2, 1).fill(3), "3 processes, but DP 2 x TP 2 x PP 1 = 4"),
        (lambda: Grid(0, 1, 1), "DP is 0"),
        (lambda: Grid(tp=8).fit(PRESETS["124m"]), "12 heads do not divide among TP 8: 12 % 8 = 4"),
        (lambda: Grid(pp=5).fit(PRESETS["124m"]), "12 layers do not divide among PP 5"),
        (
            lambda: Grid(pp=2, vpp=4).fit(PRESETS["124m"]),
            "12 layers do not divide among PP 2 x VPP 4: 12 % 8 = 4",
        ),
        (lambda: Grid(vpp=2).fit(PRESETS["124m"]), "VPP 2 interleaves .*, but PP is 1"),
        (lambda: Grid(pp=2, vpp=2).micro_batches(3, 1, "1f1b"), "in rounds of PP 2 .* = 3"),
        (lambda: Grid(pp=2, vpp=2).micro_batches(4, 1, "gpipe"), "VPP 2 is interleaved 1F1B, "),
        (lambda: Grid(dp=2).micro_batches(10, 4), "GBS 10 does not divide by MBS 4 x DP 2"),
        (lambda: Grid(pp=4).micro_batches(2, 1, "1f1b"), r"all 4 stages .* = 2: try a GBS of 4"),
        (lambda: Grid(pp=2).allow_zero(3), "ZeRO-3 with PP 2: .*several micro-batches"),
        (lambda: Grid().fit(PRESETS["nano"], sequence_parallel=True), "but TP is 1"),
        (lambda: Grid(dp=2).place(2), r"rank 2 is outside of DP\(2\)-TP\(1\)-PP\(1\)"),
        (
            lambda: Grid(cp=3).fit(PRESETS["nano"]),
            "32 does not divide into two pieces for each of CP 3: 32 % 6 = 2",
        ),
        (lambda: Grid(dp=2, ep=2).fit(PRESETS["nano"]), "EP 2 .*, but the model has none"),
        (lambda: Grid(dp=3, ep=3).fit(PRESETS["moe-nano"]), "4 experts .* EP 3: 4 % 3 = 1"),
        (
            lambda: Grid(dp=3, cp=2, ep=4).fit(PRESETS["moe-nano"]),
            "DP 3 x CP 2 = 6 does not divide into groups of EP 4: 6 % 4 = 2",
        ),
        (
            lambda: Grid(tp=2).fit(Shape(2, 64, 4, 33, 256), sequence_parallel=True),
            "sequence of 33 does not divide among TP 2: 33 % 2 = 1",
        ),
    ],
)
def test_what_does_not_multiply_out_is_refused_with_the_numbers(grid: object, numbers: str) -> None:
    assert callable(grid)
    with pytest.raises(GridError, match=numbers):
        grid()


def test_every_rank_has_one_place_and_one_group_of_each_kind() -> None:
    grid = Grid(2, 3, 4)
    for rank in range(36):
        assert Grid(2, 3, 2, cp=3).rank(Grid(2, 3, 2, cp=3).place(rank)) == rank
    assert Grid(2, 2, 1, cp=2).groups("context")[0] == [0, 2]
    grid_of_experts = Grid(4, 2, 1, ep=2)
    assert grid_of_experts.expert_groups() == [[0, 2], [4, 6], [1, 3], [5, 7]]
    assert grid_of_experts.expert_replica_groups() == [[0, 4], [2, 6], [1, 5], [3, 7]]
    assert Grid(2, 2, 1, cp=2).replica_groups() == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert [grid.rank(grid.place(rank)) for rank in range(24)] == list(range(24))
    kinds = [grid.replica_groups(), grid.groups("tensor"), grid.groups("pipeline")]
    for groups in kinds:
        assert sorted(rank for group in groups for rank in group) == list(range(24))
    assert [groups[0] for groups in kinds] == [[0, 3], [0, 1, 2], [0, 6, 12, 18]]
    assert grid.embedding_groups()[0] == [0, 18]


def test_stages_hold_each_layer_once() -> None:
    held = [list(Grid(pp=4).layers_of(stage, 12)) for stage in range(4)]
    assert [n for layers in held for n in layers] == list(range(12)) and {
        len(layers) for layers in held
    } == {3}


def test_interleaved_ranks_hold_every_second_stage() -> None:
    grid = Grid(pp=2, vpp=3)
    assert [list(grid.stages_of(rank)) for rank in range(2)] == [[0, 2, 4], [1, 3, 5]]
    assert list(grid.layers_of(4, 12)) == [8, 9]


def test_a_run_that_cannot_fit_ends_before_anything_starts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--preset", "124m", "--tp", "5"])
    assert ended.value.code == 2
    assert "12 heads do not divide among TP 5: 12 % 5 = 2" in capsys.readouterr().err


# Options


@pytest.mark.parametrize(
    ("words", "why"),
    [("--tp 4", "2 heads of keys and values do not divide among TP 4: 2 % 4 = 2"),
     ("--kv-heads 3", "4 heads do not divide among 3 of keys and values: 4 % 3 = 1"),
     ("--ffn-hidden 161 --tp 2", "an MLP of 161 does not divide among TP 2: 161 % 2 = 1"),
     ("--hidden 12", "a head of 3 does not rotate in pairs")],
)  # fmt: skip
def test_a_llama_that_cannot_be_cut_is_refused(
    words: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(["--preset", "llama-nano", *words.split()])
    assert why in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--params-dtype bf16", "parameters in bf16 multiply in bf16: --dtype bf16"),
        ("--overlap-grad-reduce --zero 2", "ZeRO-2 reduces gradients within the backward pass"),
        ("--bucket-size 0", "bucket_size 0: it is at least 1"),
        ("--attention efficient --device cpu", "--attention efficient needs a GPU"),
        ("--attention cudnn --device cpu --dtype bf16", "--attention cudnn needs a GPU"),
        ("--attention flash --device cuda", "--attention flash on a GPU needs --dtype bf16"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    words: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(words.split())
    assert why in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("words", [["--lr", "-1"], ["--lr", "inf"], ["--clip-grad", "nan"]])
def test_numbers_that_train_nothing_are_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--preset", "nano", *words])
    assert ended.value.code == 2 and "a number of at least 0" in capsys.readouterr().err
