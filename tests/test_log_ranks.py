"""Many ranks that print the same step, each with numbers of its own, make one row."""

import random

import pytest

from bench.ingest.logs.step import rank_of, rank_prefix_of
from tests.logs import header, iteration, read, rows

FRONT = {
    "srun -l": "{rank}: ",
    "mpirun": "[1,{rank}]<stdout>:",
    "torchrun": "[default{rank}]:",
    "torch": "[rank{rank}]:",
    "host": "[node{rank}:{rank}]: ",
    "pdsh": "worker-{rank}: ",
    "short hosts": "n{rank}: ",
    "docker compose": "worker-{rank}  | ",
    "PALS": "x3005c0s7b0n0.hsn.cm.polaris.alcf.anl.gov {rank}: ",
    "SageMaker": "[1,mpirank:{rank},algo-1]<stdout>:",
    "Open MPI 4": "Wed May  1 12:00:00 2024[1,{rank}]<stdout>:",
    "Open MPI 5": "[prterun-n1-4242@1,{rank}][n1:4250]<stdout>: ",
    "Ray": "\x1b[36m(TrainWorker pid={rank}, ip=10.0.0.1)\x1b[0m ",
    "Kubernetes": "[pod/gpt-worker-{rank}/pytorch] 2024-05-01T12:00:00.123456789Z ",
    "containers": "2024-05-01T12:00:00.123456789Z stdout F [default{rank}]:",
    "nothing": "",
}


def lines(front: str, ranks: int = 4, steps: int = 6, shuffled: bool = False) -> str:
    """What the ranks print; they run apart by up to one step where `shuffled`."""
    printed = [
        (step + (rank / ranks if shuffled else 0), rank, step)
        for step in range(1, steps + 1) for rank in range(ranks)
    ]  # fmt: skip
    if shuffled:
        jitter = random.Random(4)
        printed = [(at + jitter.random() / 2, rank, step) for at, rank, step in printed]
    return "\n".join(
        front.format(rank=rank) + iteration(step, 100.0 + rank + step / 10, steps)
        for _, rank, step in sorted(printed)
    )


@pytest.mark.parametrize("front", FRONT)
@pytest.mark.parametrize("shuffled", [False, True])
def test_one_row_a_step(front: str, shuffled: bool) -> None:
    log = read(header() + "\n" + lines(FRONT[front], shuffled=shuffled))
    found = rows(log, "iterations")
    assert [(row["iteration"], row["segment"]) for row in found] == [(n, 1) for n in range(1, 7)]
    (warning,) = rows(log, "warnings")
    assert str(warning["message"]).startswith("18 iteration lines are copies")


def test_what_the_ranks_say_of_a_step_stands_beside_it() -> None:
    found = rows(read(lines("{rank}: ")), "iterations")
    assert found[1]["step_time_s"] == pytest.approx(0.1002)
    assert found[1]["more"] == {
        "ranks that print it": "4",
        "step_time_s of ranks": "0.1002 to 0.1032",
    }


def test_local_ranks_of_several_nodes() -> None:
    log = read("\n".join(
        f"[default{rank % 2}]:" + iteration(step, 100.0 + rank) for step in (1, 2, 3)
        for rank in range(4)
    ))  # fmt: skip
    assert [row["iteration"] for row in rows(log, "iterations")] == [1, 2, 3]


def test_memory_of_each_rank_is_kept() -> None:
    text = "[rank{rank}]:step: {n:2}  loss:  7.2  memory: {gib:5.2f}GiB(44.36%)  tps: 1,203"
    log = read("\n".join(
        text.format(n=n, rank=rank, gib=8 + rank / 4) for n in (1, 2) for rank in range(4)
    ))  # fmt: skip
    assert len(rows(log, "iterations")) == 2
    found = [(row["iteration"], row["rank"], row["value"]) for row in rows(log, "memory")]
    assert found == [(n, rank, 8 + rank / 4) for n in (1, 2) for rank in range(4)]


def test_a_start_between_them_is_a_rewind() -> None:
    block = "\n".join(f"{rank}: {iteration(step)}" for step in (1, 2) for rank in range(2))
    log = read("\n".join([header(), block, header(), block]))
    assert len(rows(log, "runs")) == 2 and len(rows(log, "iterations")) == 4
    again = "\n".join(["0: " + iteration(5, 100.0, 9), "0: " + iteration(5, 101.0, 9)])
    assert [row["segment"] for row in rows(read(again), "iterations")] == [1, 2]


OLMO = (
    "[2024-04-17 09:{:02}:26] INFO     [olmo.train:816, rank={}] [step={}/100]\n    train/loss={}"
)


def test_what_is_printed_later_than_the_newest_step_is_a_new_start() -> None:
    def of_rank(rank: int, minute: int) -> list[str]:
        return [OLMO.format(minute + step, rank, step, 11.5 - step) for step in range(1, 8)]

    again = rows(read("\n".join([*of_rank(0, 1), *of_rank(0, 20)])), "iterations")
    assert [(row["segment"], row["iteration"]) for row in again] == [
        (segment, step) for segment in (1, 2) for step in range(1, 8)
    ]
    # The output of another process, as a whole, is of the same minutes.
    both = rows(read("\n".join([*of_rank(0, 1), *of_rank(1, 1)])), "iterations")
    assert [row["iteration"] for row in both] == [*range(1, 8)]


def test_a_time_in_front_tells_no_processes_apart() -> None:
    text = "".join(
        f"May  1 12:00:0{n} {iteration(step, 100.0, 9, f'lm loss: {9 - n}.0E+00 |')}\n"
        for n, step in enumerate((1, 2, 3, 2, 3))
    )
    assert [row["segment"] for row in rows(read(text), "iterations")] == [1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("front", "rank"),
    [
        ("[1,mpirank:3,algo-1]<stdout>:", 3),
        ("[prterun-n1-4242@1,3][n1:4250]<stdout>:", 3),
        ("x3005c0s7b0n0.hsn.cm.polaris.alcf.anl.gov 3:", 3),
        ("[rank: 3]", 3),
        ("worker-3:", None),
        ("(TrainWorker pid=1234, ip=10.0.0.1)", None),
        ("2024-05-01T12:00:00.123456789Z stdout F", None),
    ],
)
def test_the_rank_in_front(front: str, rank: int | None) -> None:
    assert rank_of((front,)) == rank


@pytest.mark.parametrize(
    ("prefixes", "prefix"),
    [
        ((), ""),
        (("[2022-03-11 02:06:58,985] [INFO] [timer.py:189:stop]",), ""),
        (("7:", "[2022-03-11 02:06:58,985] [INFO] [timer.py:189:stop]"), "7:"),
        (("[20251202 09:12:08][rank-7/8][INFO ] [---trainer.py:2560] :",), "rank-7/"),
        (("10/17/2025 16:31:56 [INFO|DP=0|PP=0|TP=1|ip-26]:",), "DP=0PP=0TP=1ip-26"),
        (("03/28 16:31:56 [INFO|DP=0]:",), "DP=0"),
        (("I0811 21:54:55.531340 138304841739136 metric_logger.py:226]",), ""),
        (("May  1 12:00:00", "[default1]:"), "[default1]:"),
    ],
)
def test_what_tells_processes_apart(prefixes: tuple[str, ...], prefix: str) -> None:
    assert rank_prefix_of(prefixes) == prefix


def test_what_ranks_repeat_of_an_evaluation_counts_once() -> None:
    template = (
        '{rank}: :::MLLOG {{"namespace": "", "time_ms": 171486142795{rank}, "event_type": '
        '"POINT_IN_TIME", "key": "eval_accuracy", "value": {value}, "metadata": '
        '{{"samples_count": {samples}}}}}'
    )
    places = [(2.7, 24576), (2.7, 49152), (2.6, 73728)]
    text = "\n".join(
        template.format(rank=rank, value=value, samples=samples)
        for value, samples in places for rank in range(4)
    )  # fmt: skip
    log = read(f"0: {iteration(1)}\n{text}\n")
    assert [row["value"] for row in rows(log, "evaluations")] == [2.7, 2.7, 2.6]
