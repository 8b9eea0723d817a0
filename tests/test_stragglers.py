"""`bench stragglers`: hosts in slow or failed jobs, by an exact test."""

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import fisher_exact

from bench.decide.distributions import Stratum, at_least, expected, least_possible
from tests.deciding import ask
from tests.logs import header, iteration
from tests.program import told

STRATA = [Stratum(12, 4, 5, 3), Stratum(7, 2, 3, 2), Stratum(9, 0, 4, 0)]


@pytest.mark.parametrize("one", STRATA)
def test_one_stratum_is_fishers_test(one: Stratum) -> None:
    others = one.jobs - one.marked - (one.having - one.both)
    table = [[one.both, one.having - one.both], [one.marked - one.both, others]]
    assert at_least([one]) == pytest.approx(fisher_exact(table, alternative="greater").pvalue)


def test_several_strata_are_counted_out() -> None:
    """All ways to put the marks of two small strata."""
    one, other = Stratum(5, 2, 3, 2), Stratum(4, 2, 1, 1)
    ways = list(itertools.product(
        itertools.combinations(range(5), 2), itertools.combinations(range(4), 2)
    ))  # fmt: skip
    hits = [sum(n < 3 for n in a) + sum(n < 1 for n in b) for a, b in ways]
    assert at_least([one, other]) == pytest.approx(sum(n >= 3 for n in hits) / len(ways))
    assert least_possible([one, other]) == pytest.approx(sum(n == 3 for n in hits) / len(ways))
    assert expected([one, other]) == pytest.approx(sum(hits) / len(ways))


def job(number: int, nodes: list[int], step: float, broken: bool = False) -> str:
    listed = ",".join(f"{node:02d}" for node in nodes)
    lines = [f"SLURM_JOB_ID={number}", f"SLURM_JOB_NODELIST=n[{listed}]", header(9)]
    lines += [iteration(n, step=step, of=9) for n in range(1, 6 if broken else 10)]
    lines += ["RuntimeError: NCCL error: unhandled system error"] if broken else []
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 jobs on 4 of 10 nodes: those with n07 take 15% longer, those with n03 fail."""
    folder, dealt = tmp_path_factory.mktemp("cluster"), random.Random(7)
    for number in range(1000, 1024):
        nodes = sorted(dealt.sample(range(1, 11), 4))
        step = 100 * dealt.gauss(1, 0.01) * (1.15 if 7 in nodes else 1)
        (folder / f"{number}.log").write_text(job(number, nodes, step, broken=3 in nodes))
    return folder


def asked(folder: Path, *args: str) -> list[dict[str, Any]]:
    done = ask(folder, "stragglers", ".", *args, "--format", "json")
    assert done.code == 0, done.text
    found: list[dict[str, Any]] = json.loads(done.out)
    return found


def test_the_slow_node_is_found(cluster: Path) -> None:
    first, second = asked(cluster)[:2]
    assert first["host"] == "n07" and first["q_value"] < 0.05 < second["q_value"]
    assert first["verdict"] == "more often than chance" and first["marked"] == len(first["places"])
    assert first["time_ratio"] > 1.1
    assert ask(cluster, "stragglers", ".").out.startswith("n07 is in ")


def test_the_failing_node_is_found(cluster: Path) -> None:
    first = asked(cluster, "--by", "failed")[0]
    assert first["host"] == "n03" and first["verdict"] == "more often than chance"


def test_nothing_stands_out_where_nothing_is_slow(cluster: Path) -> None:
    assert asked(cluster, "--slower", "50%") == []
    assert "no host stands out" in ask(cluster, "stragglers", ".", "--slower", "50%").out


def test_hosts_that_are_always_together_share_a_row(folder: Path) -> None:
    for n in range(6):
        (folder / f"{n}.log").write_text(job(n, [1, 2] if n < 3 else [3], 130 if n < 3 else 100))
    rows = asked(folder)
    assert [row["host"] for row in rows] == ["n01, n02", "n03"]
    assert rows[0]["marked"] == 3 or rows[0]["verdict"] == "too few jobs"


def test_errors(folder: Path) -> None:
    (folder / "a.log").write_text(header(4) + "\n" + iteration(4))
    told(ask(folder, "stragglers", "."), 2, "no log names the hosts", "SLURM_JOB_NODELIST")
    told(ask(folder, "stragglers", ".", "--slower", "x"), 2, "--slower")
