"""First and last step of the logs in `shared/logs`: the numbers of their lines, read by eye."""

from pathlib import Path

import pytest

from tests import logs
from tests.logs import read
from tests.real_logs import ENDS, LOGS, steps_by_hand

BIGSCIENCE, EXCERPTS = "bigscience_megatron/", "bigscience_excerpts/"
MSFT = "msft_megatron_deepspeed/random_ltd_gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4"
# Of the first and of the last step: its number, its time in s, its loss.
STEPS: list[
    tuple[str, tuple[int, float | None, float | None], tuple[int, float | None, float | None]]
] = [
    (EXCERPTS + "train__tr11*", (94768, 215.82, 1.943883), (94770, 141.69, 2.000182)),
    (EXCERPTS + "train__tr8b*", (6502, 31.0741, 3.876781), (17068, 422.7524, 4.137348)),
    (EXCERPTS + "train__tr1-*", (29020, 22.3066, 2.775923), (43680, 25.5934, 2.635663)),
    # The loss stands on the line below: the page breaks its lines.
    (EXCERPTS + "experiments*", (50, 0.6613, 8.238016), (650, 1.2101, 7.28767)),
    (BIGSCIENCE + "meg_ds_3d*", (1, 159.7789, 12.44238), (49, 136.3288, 7.747273)),
    # The first interval has no loss: every step of it was skipped.
    (BIGSCIENCE + "meg_gpt2_base_n16*", (10, 5.8379, None), (90, 2.739, 8.306568)),
    (BIGSCIENCE + "meg_gpt2_base_n4*", (10, 2.1522, None), (200, 1.3822, 7.365868)),
    (BIGSCIENCE + "meg_gpt2_perf*", (1, 155.4838, None), (3, 128.8915, None)),
    ("jubench/DESC*", (10, 7.231, 10.10967), (50, 5.3247, 8.11027)),
    # The last line is cut off within its loss: `lm loss: 8.`
    ("jubench/README*", (10, 35.8651, 13.32803), (50, 35.3357, None)),
    # Steps are counted in samples, eight a step; no time is printed.
    ("mlperf/Dell*", (192, None, None), (384, None, None)),
    ("mlperf/NVIDIA*", (192, None, None), (432, None, None)),
    ("megatron_cpu/fugaku_1proc.log", (1, 0.1828, 5.758956), (5, 0.1233, 4.799036)),
    ("megatron_cpu/fugaku_dp2.log", (1, 0.1431, 5.760191), (5, 0.0756, 4.800156)),
    ("megatron_cpu/fugaku_dp2_ac.log", (1, 0.1784, 5.760191), (5, 0.1788, 4.800156)),
    ("megatron_cpu/fugaku_tp2.log", (1, 0.6319, 6.075632), (5, 0.5743, 5.06619)),
    ("megatron_cpu/megatron_lm_dp2.log", (1, 0.197, 6.268894), (5, 0.0926, 5.892128)),
    ("megatron_cpu/megatron_lm_dp2_rec*", (1, 0.132, 6.268894), (5, 0.1122, 5.892128)),
    ("megatron_cpu/megatron_lm_tp2.log", (1, 0.3802, 6.26392), (5, 0.3894, 5.757672)),
    (MSFT + ".log", (10, 0.8101, 10.78335), (600, 0.4854, 7.516389)),
    (MSFT + "_origin.log", (10, 0.9181, 10.69112), (160, 0.5769, 8.663841)),
    ("nvidia_dgxc/*", (1, 20.2891, 12.58695), (1, 20.2891, 12.58695)),
    ("slurm/gpt-dp2.18.out", (1, 0.0231, 5.568296), (2, 0.0195, 5.553472)),
]
# Of DeepSpeed's engine: the number of the step, and samples/s where its line prints them.
ENGINE: list[tuple[str, tuple[int, float | None], tuple[int, float]]] = [
    ("deepspeed_chat/step2*", (10, 265.4349789974132), (1840, 218.17688361995747)),
    ("deepspeed_cpu/zero0_1proc*", (1, None), (4, 111.10547974954342)),
    ("deepspeed_cpu/zero0_2proc*", (1, None), (4, 224.22659248138044)),
    ("deepspeed_cpu/zero1_2proc_fl*", (1, None), (4, 85.63098377578437)),
    ("deepspeed_cpu/zero2*", (1, None), (4, 65.93752419632705)),
]


def ends(shared: Path, pattern: str, *columns: str) -> list[tuple[object, ...]]:
    (path,) = (shared / "logs").glob(pattern)
    found = logs.rows(read(path.read_bytes()), "iterations")
    return [tuple(found[place].get(column) for column in columns) for place in (0, -1)]


@pytest.mark.parametrize(("pattern", "first", "last"), STEPS, ids=[s[0] for s in STEPS])
def test_steps(shared: Path, pattern: str, first: object, last: object) -> None:
    assert ends(shared, pattern, "iteration", "step_time_s", "loss") == [first, last]


@pytest.mark.parametrize(("pattern", "first", "last"), ENGINE, ids=[e[0] for e in ENGINE])
def test_steps_of_the_engine(shared: Path, pattern: str, first: object, last: object) -> None:
    assert ends(shared, pattern, "iteration", "samples_per_s") == [first, last]


def test_every_log_with_steps_is_looked_at(shared: Path) -> None:
    looked_at = {
        str(path.relative_to(shared / "logs"))
        for pattern, *_ in (*STEPS, *ENGINE, *ENDS) for path in (shared / "logs").glob(pattern)
    }  # fmt: skip
    assert {path for path, (_, steps, _) in LOGS.items() if steps} <= looked_at


@pytest.mark.slow
def test_the_table_of_acceptance(shared: Path) -> None:
    """`pytest -s` prints it: rows, what a plain expression counts, how each run ended."""
    print("\n| log | steps | by a plain expression | endings |\n|---|--:|--:|---|")
    for path, (pattern, steps, endings) in LOGS.items():
        data = (shared / "logs" / path).read_bytes()
        log = read(data)
        rows, hand = len(logs.rows(log, "iterations")), steps_by_hand(data, pattern)
        told = [str(run["status"]) for run in logs.rows(log, "runs")]
        print(f"| {path} | {rows} | {hand} | {', '.join(told) or 'no run'} |")
        assert (rows, told) == (steps, endings) and rows == hand
