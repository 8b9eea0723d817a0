"""Trainers that print a metric a line: the lines below a step belong to it."""

from tests.log_lines import read
from tests.logs import rows

COMPOSER = """[batch={n}/4800]:
\t Train time/batch: {n}
\t Train time/token: {tokens}
\t Train loss/train/total: 11.9043
\t Train throughput/batches_per_sec: 0.2500
\t Train throughput/samples_per_sec: 53.7856
\t Train throughput/tokens_per_sec: 110152.9
\t Train throughput/device/tokens_per_sec: 13769.1"""
OLMO = """2024-03-01 10:00:0{n}.123\thost:0\tolmo.train:967\tINFO\t[step={n}/739328,epoch=0]
    optim/total_grad_norm=9.81
    train/CrossEntropyLoss=10.55
    throughput/total_tokens=41,943,040
    throughput/device/tokens_per_second=11,012
    throughput/device/batches_per_second=0.0800
    System/Peak GPU Memory (MB)=38,213"""


def test_composer() -> None:
    log = read(*"\n".join(COMPOSER.format(n=n, tokens=n * 1000) for n in (10, 20)).splitlines())
    first, second = rows(log)
    assert {k: v for k, v in first.items() if k not in ("run_id", "line")} == {
        "segment": 1, "iteration": 10, "interval_length": None, "consumed_tokens": 10_000,
        "loss": 11.9043, "loss_name": "loss", "step_time_s": 4.0, "samples_per_s": 53.7856,
        "tokens_per_s": 110152.9, "tokens_per_s_per_device": 13769.1,
    }  # fmt: skip
    assert (second["iteration"], second["consumed_tokens"]) == (20, 20_000)
    assert not rows(log, "warnings")


def test_olmo() -> None:
    log = read(*"\n".join(OLMO.format(n=n) for n in (1, 2)).splitlines())
    assert [(r["iteration"], r["loss"], r["grad_norm"], r["step_time_s"]) for r in rows(log)] == [
        (1, 10.55, 9.81, 12.5), (2, 10.55, 9.81, 12.5),
    ]  # fmt: skip
    assert [r["value"] for r in rows(log, "memory")] == [38213.0, 38213.0]
