"""`bench report scaling`: efficiency, the two laws, and the pipeline's bubble."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.decide.answers import scaled
from bench.decide.eligible import candidates
from bench.decide.fits import fits
from bench.decide.query import Query
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from tests.deciding import Stored, answer, table
from tests.program import quick, told


def test_the_laws_of_the_document(stored: Stored, folder: Path) -> None:
    found = answer(folder, "report", "scaling", *stored("003_check_tcmalloc.md"))
    with_it, without = ([row for row in found if row["group"] == at] for at in (1, 2))
    assert [row["nodes"] for row in with_it] == [1, 2, 4, 8, 16, 32, 64]
    assert with_it[-1]["efficiency"] == pytest.approx(0.906, abs=5e-4)
    assert without[-1]["efficiency"] == pytest.approx(0.662, abs=5e-4)
    for rows, first, alpha, rms, worst in (
        (with_it, 1, 0.0018, 0.020, 0.045),
        (without, 2, 0.0056, 0.025, 0.038),  # the law of all sizes misses one by a fifth
    ):
        fitted = [row for row in rows if row["nodes"] >= first]
        assert len(fitted) == len([row for row in rows if row["efficiency_fit"]])
        for row in fitted:
            assert row["alpha"] == pytest.approx(alpha, abs=5e-5) and row["beta"] == 0
            assert row["fit_from"] == first and row["rms_error"] == pytest.approx(rms, abs=5e-4)
            assert row["worst_error"] == pytest.approx(worst, abs=5e-4)
            assert row["efficiency"] / row["efficiency_fit"] == pytest.approx(1, abs=worst + 1e-3)
            assert 0 <= row["alpha_low"] <= row["alpha"] <= row["alpha_high"]
    said = quick(folder, "report", "scaling", *stored("003_check_tcmalloc.md")).out
    assert "90.6% strong-scaling efficiency on 64 nodes against 1" in said and "GBS 1024" in said
    assert "Poor fit; from 2 on: Amdahl: alpha 0.0056" in said and "rms error 2.5%" in said


ROW = "{n} | 1.3B | {dp} | 4 | {pp} | 1 | {gbs} | 20GB | {time} | | "


def test_batches_that_grow_are_weak_scaling(folder: Path) -> None:
    rows = [ROW.format(n=n, dp=2 * n, pp=1, gbs=64 * n, time=10 + n / 10) for n in (1, 2, 4, 8)]
    table(folder / "a.md", rows)
    found = answer(folder, "report", "scaling", "a.md")
    assert {row["scaling"] for row in found} == {"weak"}
    assert found[-1]["efficiency"] == pytest.approx(10.1 / 10.8, rel=1e-3)
    assert "GBS grows with the nodes" in quick(folder, "report", "scaling", "a.md").out


def test_what_the_bubble_takes(folder: Path) -> None:
    work = {n: 10 / n * (512 // n + 3) / (512 // n) for n in (2, 4, 8, 16)}  # bubble alone
    rows = [
        ROW.format(n=2 * n, dp=n, pp=4, gbs=512, time=f"{time:.4f}") for n, time in work.items()
    ]
    table(folder / "a.md", rows)
    found = answer(folder, "report", "scaling", "a.md")
    for row in found:
        assert row["bubble"] == pytest.approx(3 / (512 / row["dp"] + 3))
        assert row["efficiency_without_bubble"] == pytest.approx(1, rel=1e-3)
    assert found[-1]["efficiency"] < 0.96


def test_rows_without_another_size_are_listed(stored: Stored, folder: Path) -> None:
    found = answer(folder, "report", "scaling", *stored(), "--model", "181B")
    assert found and all(row["left_out"] for row in found)
    assert (
        "No two runs differ only in the number of devices"
        in quick(folder, "report", "scaling", *stored(), "--model", "181B").out
    )


@settings(max_examples=20, deadline=None)
@given(st.floats(0, 0.1), st.floats(0, 1e-3))
def test_a_law_without_noise_is_found_again(alpha: float, beta: float) -> None:
    xs = [1, 2, 4, 8, 16, 32, 64]
    exact = [1 / (1 + alpha * (x - 1) + beta * x * (x - 1)) for x in xs]
    found = fits(xs, exact)[-1]
    assert found.alpha == pytest.approx(alpha, abs=1e-6)
    assert found.beta == pytest.approx(beta, abs=1e-8)
    low, high = found.predicted(128)
    assert low <= found.efficiency(128) * (1 + 1e-6) and found.efficiency(128) <= high * (1 + 1e-6)


def test_few_points_have_no_fit() -> None:
    assert fits([1, 2], [1, 0.9]) == []
    assert [one.law for one in fits([1, 2, 4], [1, 0.9, 0.8])] == ["Amdahl"]


def test_answers_stand_in_regions(data: Path, folder: Path) -> None:
    (folder / "a.md").write_bytes((data / "tables" / "003_check_tcmalloc.md").read_bytes())
    (folder / "README.md").write_text(
        "".join(
            f"<!-- bench:begin report={name} from=a.md -->\n<!-- bench:end -->\n"
            for name in ("scaling", "best where='nodes <= 8'", "compare by=LD_PRELOAD")
        )
    )
    assert quick(folder, "report", "--check", "README.md").code == 1
    assert quick(folder, "report", "--update", "README.md").code == 0
    text = (folder / "README.md").read_text()
    assert "alpha 0.0018" in text and "1.77x" in text and "Fastest: 8 nodes" in text
    assert quick(folder, "report", "--check", "README.md").code == 0


def test_several_jobs_of_a_size_are_pooled_in_every_column(folder: Path) -> None:
    row = "2 | 1.3B | 16 | 1 | 1 | 1 | 512 | 20GB | {time} | | "
    twice = "4 | 1.3B | 32 | 1 | 1 | 1 | 512 | 20GB | 5.5 | | "
    table(folder / "a.md", [row.format(time=time) for time in (10.0, 10.4)] + [twice])
    base, _ = answer(folder, "report", "scaling", "a.md", "--columns", "jobs,step_time_s,gbs,"
                     "seq_len,tokens_per_s,efficiency")  # fmt: skip
    assert base["jobs"] == 2 and base["step_time_s"] == pytest.approx(10.2)
    assert base["tokens_per_s"] == pytest.approx(512 * 2048 / 10.2)


LAW = {2: "60.0", 4: "31.0", 8: "16.4", 16: "9.4"}


def test_each_fit_stands_by_itself_with_its_interval(folder: Path) -> None:
    grown = {2: "4.00", 4: "4.10", 8: "4.30", 16: "4.70"}
    strong = [f"{n} | 13B | {n} | 4 | 2 | 1 | 256 | 50GB | {time} | | " for n, time in LAW.items()]
    weak = [
        f"{n} | 13B | {n} | 4 | 2 | 1 | {8 * n} | 50GB | {time} | | " for n, time in grown.items()
    ]
    table(folder / "a.md", [*strong, *weak])
    found = answer(folder, "days", "a.md", "--nodes", "32", "--extrapolate")
    assert [row["jobs"] for row in found] == [1, 1]  # of the nearest size that was measured
    assert {row["range_from"] for row in found} == {
        "Amdahl fit of strong scaling, 4 sizes, 2 to 16 nodes",
        "Amdahl fit of weak scaling, 4 sizes, 2 to 16 nodes",
    }
    for row in found:  # rounded times that a law meets exactly leave an interval
        assert row["days_low"] < 0.999 * row["days"] and row["days_high"] > 1.001 * row["days"]


def test_no_fit_is_told_of_a_size_that_ran_out_of_memory(folder: Path) -> None:
    rows = [f"{n} | 13B | {n} | 4 | 2 | 1 | 256 | 50GB | {time} | | " for n, time in LAW.items()]
    table(folder / "a.md", [*rows, "32 | 13B | 32 | 4 | 2 | 1 | 256 | OOM | OOM | | "])
    done = quick(folder, "days", "a.md", "--nodes", "32", "--extrapolate")
    told(done, 2, "a run of this size failed: oom", "a.md:12")


def test_a_run_without_nodes_takes_the_fits_of_no_other(folder: Path) -> None:
    """Each group counts its own nodes or devices; where no DP is stated, none has to divide."""
    head = "| Nodes | TP | PP | MBS | GBS | Sec/it |\n| --: | --: | --: | --: | --: | --: |\n"
    above = "# 7B on A100-80GB, 8 GPUs per node, seq len 4096\n\n"
    rows = "".join(f"| {n} | 4 | 1 | 2 | 512 | {48 / n + 0.5:.2f} |\n" for n in (1, 2, 4, 8))
    (folder / "a.md").write_text(above + head + rows)
    chips = "".join(f"| {n} | 4 | 1 | 2 | 512 | {40 / n + 0.5:.2f} |\n" for n in (8, 16))
    tpu = "# 1B on TPU v5p, seq len 4096\n\n"
    (folder / "b.md").write_text(tpu + head.replace("Nodes", "Chips") + chips)
    said = quick(folder, "report", "scaling", "a.md", "b.md").out
    assert "on 8 nodes against 1: 7B" in said and "on 16 devices against 8: 1B" in said
    [made] = answer(folder, "days", "a.md", "b.md", "--nodes", "16", "--extrapolate")
    assert made["step_time_s"] == pytest.approx(48 / 16 + 0.5, rel=0.02)


NEOX = "| Nodes | GPUs | TP | PP | DP | micro batch | grad accum | samples/s |"
NEOX_ROW = "| {n} | {d} | 2 | 4 | {n} | 4 | {ga} | {rate} |"


def _neox(path: Path, sizes: Sequence[tuple[int, object, float]]) -> None:
    head = "# GPT-NeoX 20B on A100 40GB, Sequence Length=2048"
    rows = [NEOX_ROW.format(n=n, d=8 * n, ga=ga, rate=rate) for n, ga, rate in sizes]
    path.write_text("\n".join([head, "", NEOX, "|---" * 8 + "|", *rows, ""]))


def test_a_batch_that_is_multiplied_out_tells_strong_from_weak(folder: Path) -> None:
    _neox(folder / "a.md", [(12, 32, 75.2), (24, 32, 150.4), (48, 32, 300.0)])
    assert {row["scaling"] for row in answer(folder, "report", "scaling", "a.md")} == {"weak"}
    said = quick(folder, "report", "scaling", "a.md").out
    assert "| 1536 |" in said and "| 6144 |" in said
    _neox(folder / "b.md", [(12, 32, 75.2), (24, 16, 146.3), (48, 8, 270.0)])
    found = answer(folder, "report", "scaling", "b.md")
    assert {row["scaling"] for row in found} == {"strong"}
    assert found[-1]["bubble"] == pytest.approx(3 / (8 + 3))
    said = quick(folder, "report", "scaling", "b.md").out
    assert "strong-scaling efficiency" in said and "GBS 1536" in said
    explained = quick(folder, "explain", "b:5.bubble", "b.md").out
    assert "gbs = 1,536 sequences" in explained and "mbs x grad_accum x dp" in explained


def test_without_a_batch_nobody_knows_how_it_scales(folder: Path) -> None:
    _neox(folder / "a.md", [(12, "-", 75.2), (24, "-", 150.4)])
    assert {row["scaling"] for row in answer(folder, "report", "scaling", "a.md")} == {"unknown"}
    said = quick(folder, "report", "scaling", "a.md").out
    assert "This may be either strong or weak scaling: no global batch size is stated." in said
    assert "GBS None" not in said


def _published(path: Path, head: str, rows: Sequence[str], above: str) -> None:
    columns = head.count("|") + 1
    lines = [f"| {row} |" for row in rows]
    path.write_text("\n".join([above, "", f"| {head} |", "|---" * columns + "|", *lines, ""]))


def _scaling(folder: Path, head: str, rows: Sequence[str], above: str) -> list[dict[str, Any]]:
    """What `bench report scaling` says of such a page."""
    _published(folder / "a.md", head, rows, above)
    return answer(folder, "report", "scaling", "a.md")


def test_a_batch_in_tokens_beside_the_batch_sets_no_row_apart(folder: Path) -> None:
    head = "Model | SeqLen (T) | # GPUs | MicroBatchSize | GlobalBatchSize | Throughput (T/s)"
    rows = [f"13b | 2048 | {8 * n} | 2 | {16 * n} | {38336 * n} | {32768 * n}" for n in (1, 2, 4)]
    found = _scaling(folder, f"{head} | GlobalBatchSize (T)", rows, "# H100 80GB BF16")
    assert [row["scaling"] for row in found] == ["weak"] * 3
    assert found[-1]["settings"] is None
    head = "Model | SeqLen (T) | # GPUs | MicroBatchSize | Throughput (T/s) | GlobalBatchSize (T)"
    rows = [f"13b | 2048 | 8 | 2 | 38336 | {batch}" for batch in (32768, 65536)]
    _published(folder / "b.md", head, rows, "# H100 80GB BF16")
    found = answer(folder, "best", "b.md")
    assert [row["settings"] for row in found] == [
        "GlobalBatchSize (T)=32768",
        "GlobalBatchSize (T)=65536",
    ]


def test_the_accumulation_of_nanotron_is_no_setting(folder: Path) -> None:
    head = "nodes | world_size | seq_len | mbs | batch_accum | gbs | dp | pp | tp | tok/s/gpu"
    rows = [
        f"{n} | {8 * n} | 4096 | 2 | {8 // n} | 128 | {8 * n} | 1 | 1 | {36000 - 1000 * n}"
        for n in (1, 2, 4)
    ]
    found = _scaling(folder, head, rows, "# 1.34B on H100 80GB")
    assert [row["scaling"] for row in found] == ["strong"] * 3


def test_slices_of_one_kind_of_chip_are_one_system(folder: Path) -> None:
    head = "No. of params | Accelerator type | TFLOP/chip/sec | Step time (s) | Per-device batch"
    rows = [f"32B | v5p-{2 * n} | 328 | 20.{n // 64} | 16 | 2048 | {n}" for n in (64, 128, 256)]
    found = _scaling(folder, f"{head} | Seq len | Chips", rows, "# MaxText")
    assert [row["scaling"] for row in found] == ["weak"] * 3
    assert {row["system"] for row in found} == {"TPUv5p"}
    assert [row["device"] for row in found] == ["v5p-128", "v5p-256", "v5p-512"]


def test_one_batch_needs_no_sequence_length(folder: Path) -> None:
    head = "Nodes | TP | PP | DP | MBS | GBS | Sec/it"
    times = {4: 40.0, 8: 21.0, 16: 11.0}
    rows = [f"{n} | 8 | 1 | {n} | 1 | 512 | {time}" for n, time in times.items()]
    found = _scaling(folder, head, rows, "# 22B on A100-80GB")
    assert [row["scaling"] for row in found] == ["strong"] * 3
    assert found[-1]["efficiency"] == pytest.approx(40 * 4 / (11 * 16))
    assert found[-1]["efficiency_low"] < found[-1]["efficiency"] < found[-1]["efficiency_high"]
    said = quick(folder, "report", "scaling", "a.md").out
    assert "by sequences/s" in said and "Excluded" not in said
    explained = quick(folder, "explain", "a:7.efficiency", "a.md").out
    assert "gbs = 512" in explained and "step_time_s = 11" in explained
    assert quick(folder, "chart", "efficiency", "a.md", "-o", "a.svg").code == 0


def test_a_size_that_no_fit_tells_has_no_rate_of_another(folder: Path) -> None:
    rows = [f"{n} | 13B | {n} | 4 | 2 | 1 | 256 | 50GB | {time} | | " for n, time in LAW.items()]
    two = [f"{n} | 13B | {n} | 4 | 2 | 2 | 256 | 50GB | {40 / n:.1f} | | " for n in (2, 4)]
    table(folder / "a.md", [*rows, *two])
    fitted, left = answer(
        folder, "days", "a.md", "--nodes", "32", "--extrapolate", "--steps", "1000"
    )
    assert fitted["days"] == pytest.approx(1000 * fitted["step_time_s"] / 86400)
    assert left["left_out"] == "2 sizes: no fit" and left["nodes"] == 32
    assert left["tokens_per_s"] is left["step_time_s"] is left["tflops"] is left["days"] is None


def test_one_node_in_parts_and_several_nodes_are_one_curve(folder: Path) -> None:
    sizes = [(1, 1), (1, 2), (1, 4), (1, 8), (2, 16)]
    body = "".join(
        f"| {nodes} | {devices} | 1.3B | 512 | {64 / devices:.2f} |\n" for nodes, devices in sizes
    )
    head = "| Nodes | GPUs | Size | GBS | Sec/it |\n| --: | --: | --: | --: | --: |\n"
    (folder / "a.md").write_text(f"# A100 80GB, SEQ_LEN=2048\n\n{head}{body}")
    found = answer(folder, "report", "scaling", "a.md")
    assert [(row["group"], row["devices"]) for row in found] == [(1, n) for _, n in sizes]
    said = quick(folder, "report", "scaling", "a.md").out
    assert "100.0% strong-scaling efficiency on 16 devices against 1" in said


def test_of_many_groups_those_of_most_sizes_have_laws(folder: Path) -> None:
    """Efficiencies are of all groups alike."""
    rows = [ROW.format(n=n, dp=2 * n // pp, pp=pp, gbs=512, time=100 / n**0.9 + pp)
            for pp, sizes in ((1, (1, 2, 4, 8)), (2, (2, 4, 8))) for n in sizes]  # fmt: skip
    path = table(folder / "a.md", rows)
    with in_memory() as warehouse:
        ingest_into(warehouse, [path], folder)
        chosen = candidates(warehouse, Query())
        whole, few = scaled(chosen), scaled(chosen, 1)
    assert [row["efficiency"] for row in few.rows] == [row["efficiency"] for row in whole.rows]
    laws = [[bool(group["laws"]) for group in one.facts["groups"]] for one in (whole, few)]
    assert laws == [[True, True], [True, False]]
    assert {row["group"] for row in few.rows if row.get("alpha") is not None} == {1}
