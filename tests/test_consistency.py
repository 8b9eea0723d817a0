"""Whether lines of steps close, and what of them is no part of statistics."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.ingest.logs.consistency import left_out, quantities
from bench.ingest.logs.equations import FirstSteps, Sizes
from bench.schema.opening import in_memory

SIZES = Sizes(gbs=32, seq_len=2048, grad_accum=4, replicas=8, devices=16)
TIMES = (9.0, 2.0, 2.1, 1.9, 2.0, 2.05)


def steps(**columns: object) -> FirstSteps:
    """A step a time of `TIMES`; a column is a number, or computed from the time of its step."""
    first = FirstSteps()
    for number, seconds in enumerate(TIMES, 1):
        fields = {name: value(seconds, number) if callable(value) else value
                for name, value in columns.items()}  # fmt: skip
        first.add(1, number, fields)
    return first


def clock(_: float, number: int) -> datetime:
    return datetime(2025, 1, 1, 0, 0, 0, 5) + timedelta(seconds=sum(TIMES[:number]))


def time(seconds: float, _: int) -> float:
    return seconds


def rate(per_step: float):  # type: ignore[no-untyped-def]
    return lambda seconds, _: per_step / seconds


@pytest.mark.parametrize(
    ("printed", "scopes"),
    [
        ({"step_time_s": time, "samples_per_s": rate(32)}, ["step", "job"]),
        ({"step_time_s": time, "tokens_per_s": rate(32 * 2048)}, ["step", "job"]),
        # Without a batch in it nothing tells.
        ({"step_time_s": time}, ["step"]),
        # The time of a micro-batch: clocks tell, and so does the batch.
        ({"step_time_s": lambda s, _: s / 4, "printed_at": clock}, ["micro-batch"]),
        ({"step_time_s": lambda s, _: s / 4, "samples_per_s": rate(32)}, ["micro-batch", "job"]),
        # The rates of a replica and of a device, taken for those of the job.
        ({"step_time_s": time, "samples_per_s": rate(4)}, ["step", "replica"]),
        ({"step_time_s": time, "tokens_per_s": rate(32 * 2048 / 16)}, ["step", "device"]),
        # And the other way round.
        ({"step_time_s": time, "tokens_per_s": rate(32 * 2048),
          "tokens_per_s_per_device": rate(32 * 2048)}, ["step", "job", "job"]),
        # Units: a thousandth of the rate; ms taken for s.
        ({"step_time_s": time, "samples_per_s": rate(0.032)}, ["step", "job, a thousandth"]),
        ({"step_time_s": lambda s, _: 1000 * s, "samples_per_s": rate(32)},
         ["step, in ms", "job"]),
        # A factor that nothing states: with a clock it is the rate, without one it may be either.
        ({"step_time_s": time, "samples_per_s": rate(32 / 12.6), "printed_at": clock},
         ["step", None]),
        ({"step_time_s": time, "samples_per_s": rate(32 / 12.6)}, [None, None]),
        # Off by less than two, a time is not to blame: it would be of half a step.
        ({"step_time_s": time, "samples_per_s": rate(22)}, ["step", None]),
        # A rate that scatters about no factor is another mean, and shows nothing.
        ({"step_time_s": time, "samples_per_s": lambda _, n: 2.0**n}, ["step", "job"]),
    ],
)  # fmt: skip
def test_scopes(printed: dict[str, object], scopes: list[str | None]) -> None:
    found = quantities(steps(**printed), SIZES)
    assert [one.scope for one in found] == scopes
    assert len(list(left_out(found))) == sum(not one.is_used for one in found)


def test_counts_that_were_rounded_are_no_batch() -> None:
    first = steps(step_time_s=time, tokens_per_s=rate(640), gbs=20, seq_len=32,
                  consumed_tokens=lambda _, n: 633_000 + 1000 * (640 * n // 1000))  # fmt: skip
    assert all(one.is_used for one in quantities(first, Sizes()))


def test_consumed_samples_give_the_batch() -> None:
    first = steps(step_time_s=time, samples_per_s=rate(8), consumed_samples=lambda _, n: 8 * n)
    found = {one.column: one for one in quantities(first, Sizes(gbs=64))}
    assert found["samples_per_s"].is_used
    assert found["samples_per_s"].residual == pytest.approx(0)


LINE = (
    " [2025-01-01 00:{m:02d}:{s:02d}] iteration {n:8d}/ 100 | consumed samples: {c:12d} |"
    " elapsed time per iteration (ms): {t:.1f} | global batch size: {b:5d} | lm loss: 1.0E+00 |"
    " samples per second: {r:.3f} | TFLOPs: 100.0 |"
)


def stored(folder: Path, *, share: float) -> list[tuple[object, ...]]:
    lines = [LINE.format(m=n // 3, s=20 * (n % 3), n=n, c=64 * n, t=20_000.0, b=64,
                         r=64 / 20 * share) for n in range(1, 30)]  # fmt: skip
    (folder / "run.log").write_text("\n".join(lines) + "\n")
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder / "run.log"], folder)
        query = "SELECT metric FROM run_stats WHERE contains(metric, '_s') ORDER BY 1"
        metrics = warehouse.rows(query)
        messages = warehouse.rows("SELECT message FROM warnings WHERE code = 'does_not_close'")
        return metrics + messages


def test_what_does_not_close_is_no_part_of_statistics(tmp_path: Path) -> None:
    assert stored(tmp_path, share=1.0) == [("samples_per_s",), ("step_time_s",)]
    assert stored(tmp_path, share=1 / 7) == [
        ("step_time_s",),
        ("samples/s is left out of statistics: it does not close "
         "(samples/s x step time = batch, off by a factor of 0.143)",),
    ]  # fmt: skip
