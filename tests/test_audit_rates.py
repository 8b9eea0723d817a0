"""The audit on lines of logs, and on tables that print rates instead of step times."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest

from bench.audit.finding import Finding
from tests.auditing import audited, found_in
from tests.program import quick

HEAD = (
    "Model | SeqLen | # GPUs | GPU | MFU | HFU | Model TFLOP | MicroBatchSize | GradAccum "
    "| GlobalBatchSize | Throughput (S/s) | Throughput (T/s) | Throughput (T/s/GPU) | Precision"
)
MODELS = {"7b": (6.66e9, 32, 4096), "13b": (12.85e9, 40, 5120), "70b": (64.9e9, 80, 8192)}
PEAK = 989.4e12


def rates(rng: Random) -> list[list[str]]:
    """Rows as llm-foundry prints them: rates rounded to whole numbers, MFU by 6N + 12LHT."""
    rows = []
    for label, (params, layers, hidden) in MODELS.items():
        for gpus in (8, 16, 32, 64, 128):
            seq, mbs, accumulated = 2048, rng.choice((1, 2, 4)), rng.choice((1, 2, 4))
            flops = 6 * params + 12 * layers * hidden * seq
            mfu = rng.uniform(0.35, 0.45)
            per_device = mfu * PEAK / flops
            rows.append([
                label, str(seq), str(gpus), "h100_80gb", f"{100 * mfu:.2f}",
                f"{100 * mfu * 4 / 3:.2f}",
                f"{mfu * PEAK:.6E}", str(mbs), str(accumulated), str(mbs * accumulated * gpus),
                f"{per_device * gpus / seq:.0f}", f"{per_device * gpus:.0f}", f"{per_device:.0f}",
                "amp_bf16",
            ])  # fmt: skip
    return rows


def write(file: Path, rows: list[list[str]]) -> None:
    lines = ["# Rates", "", f"| {HEAD} |", "|" + " --- |" * (HEAD.count("|") + 1)]
    file.write_text("\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n")


def errors(findings: list[Finding]) -> set[int]:
    return {line for one in findings if one.severity == "error" for _, line in one.rows()}


def test_rates_that_agree(tmp_path: Path) -> None:
    write(tmp_path / "rates.md", rates(Random(1)))
    assert errors(found_in(tmp_path)) == set()


# Column, and what is done to its number: each contradicts two columns or more.
@pytest.mark.parametrize(
    "column", ["MFU", "Model TFLOP", "Throughput (T/s)", "Throughput (T/s/GPU)"]
)
@pytest.mark.parametrize("scale", [0.7, 1.1, 3.0])
def test_a_rate_that_does_not_agree(tmp_path: Path, column: str, scale: float) -> None:
    rows = rates(Random(2))
    place = [name.strip() for name in HEAD.split("|")].index(column)
    old = rows[7][place]
    new = float(old) * scale
    rows[7][place] = f"{new:.6E}" if "E" in old else f"{new:.{len(old.partition('.')[2])}f}"
    write(tmp_path / "rates.md", rows)
    assert errors(found_in(tmp_path)) == {5 + 7}


def test_a_batch_that_does_not_multiply_out(tmp_path: Path) -> None:
    rows = rates(Random(3))
    rows[4][9] = str(int(rows[4][9]) + 8)
    write(tmp_path / "rates.md", rows)
    [finding] = found_in(tmp_path)
    assert (finding.rule, finding.line) == ("R2b", 5 + 4)


def test_hfu_of_rows_without_recompute(tmp_path: Path) -> None:
    """HFU counts what is recomputed: it differs from the other rows, and is no error."""
    rows = rates(Random(4))
    rows[2][5] = rows[2][4]
    write(tmp_path / "rates.md", rows)
    assert errors(found_in(tmp_path)) == set()
    rows[7][5] = "64.00"
    write(tmp_path / "rates.md", rows)
    assert errors(found_in(tmp_path)) == {5 + 7}


def test_hfu_below_mfu(tmp_path: Path) -> None:
    rows = rates(Random(4))
    rows[2][5] = "20.00"
    write(tmp_path / "rates.md", rows)
    assert errors(found_in(tmp_path)) == {5 + 2}


def log(root: Path) -> str:
    return (root / "data" / "logs" / "fugaku_dp2.log").read_text("utf-8")


def test_a_log_that_agrees(root: Path, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(log(root))
    assert found_in(tmp_path) == []


def test_samples_per_second_of_one_line(root: Path, tmp_path: Path) -> None:
    lines = log(root).splitlines(keepends=True)
    at = [n for n, line in enumerate(lines) if "samples per second" in line][3]
    lines[at] = re.sub(
        r"(samples per second: )([\d.]+)", lambda m: f"{m[1]}{float(m[2]) * 1.2:.3f}", lines[at]
    )
    (tmp_path / "run.log").write_text("".join(lines))
    found = [one for one in found_in(tmp_path) if one.severity == "error"]
    assert [(one.rule, one.line) for one in found] == [("R1e", at + 1)]


def test_times_in_another_unit(root: Path, tmp_path: Path) -> None:
    text = re.sub(
        r"(samples per second: )([\d.]+)", lambda m: f"{m[1]}{float(m[2]) / 1000:.5f}", log(root)
    )
    (tmp_path / "run.log").write_text(text)
    [finding] = found_in(tmp_path)
    assert (finding.rule, finding.severity) == ("R1e", "warning")
    assert "a thousandth of what batch and time give" in finding.evidence
    assert finding.suggestion == "samples per second x 1000"


def test_consumed_samples_that_jump(root: Path, tmp_path: Path) -> None:
    lines = log(root).splitlines(keepends=True)
    at = [n for n, line in enumerate(lines) if "consumed samples" in line][-1]
    lines[at] = re.sub(r"(consumed samples: +)(\d+)", lambda m: f"{m[1]}{int(m[2]) + 8}", lines[at])
    (tmp_path / "run.log").write_text("".join(lines))
    found = [one for one in found_in(tmp_path) if one.severity == "error"]
    assert [one.line for one in found] == [at + 1]


def test_one_wrong_counter_is_one_error(root: Path, tmp_path: Path) -> None:
    lines = log(root).splitlines(keepends=True)
    at = [n for n, line in enumerate(lines) if "consumed samples" in line][3]
    right = re.search(r"consumed samples: +(\d+)", lines[at])
    assert right is not None
    lines[at] = re.sub(r"(consumed samples: +)(\d+)", lambda m: f"{m[1]}{int(m[2]) + 8}", lines[at])
    (tmp_path / "run.log").write_text("".join(lines))
    found = [one for one in found_in(tmp_path) if one.severity == "error"]
    assert [(one.line, one.suggestion) for one in found] == [
        (at + 1, f"consumed samples {right[1]}")
    ]


def test_one_share_above_one_is_no_percentage(tmp_path: Path) -> None:
    shares = (0.449, 0.441, 1.432, 0.421)
    rows = "".join(
        f"| {8 << place} | {512 << place} | 4.{place} | {share} |\n"
        for place, share in enumerate(shares)
    )
    head = "| GPUs | GBS | Step time (s) | MFU |\n|--|--|--|--|\n"
    (tmp_path / "x.md").write_text(head + rows)
    done = quick(tmp_path, "audit", "x.md", "--format", "json", "--fail-on", "never")
    found = [one for one in json.loads(done.out) if one["severity"] == "error"]
    assert [(one["rule"], one["line"]) for one in found] == [("R1b", 5)]


def test_accumulation_steps_by_another_name(tmp_path: Path) -> None:
    head = "| GPUs | DP | TP | Micro batch | Grad acc | GBS | Step time (s) |\n" + "|--" * 7 + "|\n"
    rows = "".join(
        f"| {8 * dp} | {dp} | 8 | 2 | {8 if dp < 16 else 16} | {16 * dp} | 4.2 |\n"
        for dp in (2, 4, 8, 16)
    )
    (tmp_path / "x.md").write_text(head + rows)
    done = quick(tmp_path, "audit", "x.md", "--format", "json", "--fail-on", "never")
    found = [one for one in json.loads(done.out) if one["severity"] == "error"]
    [one] = found
    assert (one["rule"], one["line"]) == ("R2b", 6) and one["suggestion"].startswith("GA=8")


@pytest.mark.parametrize(
    ("column", "wrong"), [(None, ""), (3, "3"), (4, "8"), (5, "26.20"), (6, "15630")]
)
def test_a_batch_that_only_its_parts_tell(tmp_path: Path, column: int | None, wrong: str) -> None:
    """MBS x GA x DP sequences a step, where no column has the GBS."""
    head = ("GPUs", "DP", "TP", "MBS", "Grad Accum", "Step time (s)", "Tokens/s/GPU")
    rows = []
    for gpus, dp, tp, mbs, steps, rate in (
        (8, 8, 1, 2, 8, 12404), (8, 4, 2, 4, 8, 11812), (16, 8, 2, 2, 16, 11630),
        (32, 8, 4, 4, 8, 10977), (64, 16, 4, 4, 8, 10504),
    ):  # fmt: skip
        seconds = dp * mbs * steps * 4096 / rate / gpus
        rows.append([gpus, dp, tp, mbs, steps, f"{seconds:.2f}", rate])
    if column is not None:
        rows[2][column] = wrong
    lines = [head, ["--"] * len(head), *rows]
    text = "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)
    (tmp_path / "x.md").write_text(f"# Sweep of a 3B\n\nSequence length 4096\n\n{text}")
    found = [one for one in audited(tmp_path / "x.md") if one["severity"] != "note"]
    assert [(one["rule"], one["severity"], one["line"]) for one in found] == (
        [] if column is None else [("R1d", "error", 9)]
    )


def test_slices_of_one_device_share_a_peak(tmp_path: Path) -> None:
    """A table without a batch or topology: slices of a device under names of their own."""
    rows = [("v5p-128", 328, 71.47), ("v5p-256", 315, 68.68), ("v5p-1024", 294, 63.99),
            ("v5p-2048", 249, 64.05), ("v5p-4096", 297, 64.80)]  # fmt: skip
    head = "| No. of params | Accelerator Type | TFLOP/chip/sec | Model flops utilization (MFU) |"
    lines = [head, "|---|---|---|---|"]
    lines += [f"| {32 * 2**n}B | {name} | {tflops:.2e} | {mfu:.2f}% |"
              for n, (name, tflops, mfu) in enumerate(rows)]  # fmt: skip
    (tmp_path / "README.md").write_text("\n".join(lines) + "\n")
    [found] = [one for one in found_in(tmp_path) if one.severity == "error"]
    assert found.rows() == {("README.md", 6)}
    assert "389.1" in found.evidence and "459" in found.evidence
    assert "TFLOPs about 294" in found.suggestion


def test_without_recompute_hfu_is_mfu_of_any_model(tmp_path: Path) -> None:
    head = "| Model | GPUs | AC | MFU | HFU |\n|---|---|---|---|---|\n"
    rows = ["| 7B | 8 | no | 46.4 | 46.4 |", "| 13B | 8 | no | 39.8 | 39.8 |",
            "| 30B | 8 | no | 38.1 | 50.8 |", "| 70B | 8 | yes | 36.1 | 48.2 |"]  # fmt: skip
    (tmp_path / "README.md").write_text(head + "\n".join(rows) + "\n")
    [found] = found_in(tmp_path)
    assert (found.severity, found.rows()) == ("error", {("README.md", 5)})
    assert "HFU about 38.1%" in found.suggestion


def days(folder: Path, heading: str, odd: str = "158") -> list[Finding]:
    """Days for 10T tokens on 1024 devices of models of several sizes."""
    rows = [("GPT3-20B", 64, 5851, "19"), ("GPT3-175B", 128, 716, odd), ("L-13B", 16, 8715, "13"),
            ("L-70B", 64, 1728, "65"), ("N-22B", 64, 4312, "26")]  # fmt: skip
    lines = [f"| Model | GPUs | Tokens/s/GPU | {heading} |", "|---|---|---|---|"]
    lines += [f"| {name} | {gpus} | {rate} | {took} |" for name, gpus, rate, took in rows]
    (folder / "README.md").write_text("\n".join(lines) + "\n")
    return [one for one in found_in(folder) if one.rule == "R4b"]


def test_days_of_a_table_against_its_tokens_a_second(tmp_path: Path) -> None:
    stated = "Est. time to train in days (10T tokens, 1K GPUs)"
    assert days(tmp_path, stated) == []
    [found] = days(tmp_path, stated, "185")
    assert (found.severity, found.rows()) == ("error", {("README.md", 4)})
    assert "about 157 days" in found.evidence and "printed 185" in found.evidence
    assert found.suggestion.startswith("Days about 157, or Tokens/s/device about 60")
    [found] = days(tmp_path, "Days", "185")
    assert found.severity == "warning", "a model may have a budget of its own"


def test_one_repair_that_two_rules_find_is_said_once(tmp_path: Path) -> None:
    """A batch that does not divide, and TFLOPs that then do not follow from the time."""
    head = "| GPUs | DP | MBS | GA | GBS | Layers | Hidden size | Seq len | Sec/it | TFLOPs |"
    rows = [(8, 1, 4), (16, 2, 4), (32, 4, 4), (64, 8, 2)]
    layers, hidden = 44, 6144
    lines = [head, "|" + "---|" * 10]
    for place, (gpus, dp, mbs) in enumerate(rows):
        gbs, took = mbs * 32 * dp, 50 + 1.25 * place
        bracket = 1 + 2048 / (6 * hidden) + 50432 / (16 * layers * hidden)
        rate = 96 * gbs * 2048 * layers * hidden**2 * bracket / (took * gpus * 1e12)
        printed = 518 if place == 2 else gbs
        lines.append(f"| {gpus} | {dp} | {mbs} | 32 | {printed} | {layers} | {hidden} | 2048 "
                     f"| {took:.3f} | {rate:.2f} |")  # fmt: skip
    (tmp_path / "README.md").write_text("\n".join(lines) + "\n")
    [found] = [one for one in found_in(tmp_path) if one.severity == "error"]
    assert found.rules == ("R2b", "R1")
    assert found.suggestion.count("GBS=512") == 1


MEANS = (
    "# Qwen3 30B-A3B\n\n## Full sweep (seq_len 4096)\n\n"
    "| Container | GPUs | MBS | GBS | s/iter | TFLOPS/GPU |\n|-|-|-|-|-|-|\n"
    "| 26.06.01 | 4 | 2 | 256 | 17.427 | 346.08 |\n| 26.08.00 | 4 | 1 | 256 | 32.335 | 186.51 |\n"
    "| 26.06.01 | 4 | 1 | 256 | 33.350 | 180.84 |\n| 26.08.00 | 4 | 2 | 256 | 26.402 | {} |\n"
)


@pytest.mark.parametrize(("tflops", "errors"), [("228.40", 0), ("228.00", 0), ("229.90", 1)])
def test_means_over_steps_need_not_be_each_other_s_inverse(
    tmp_path: Path, tflops: str, errors: int
) -> None:
    (tmp_path / "x.md").write_text(MEANS.format(tflops))
    found = [one for one in audited(tmp_path / "x.md") if one["rule"] == "R1"]
    assert [one["line"] for one in found if one["severity"] == "error"] == [10] * errors


def test_fp32_may_be_multiplied_as_tf32(tmp_path: Path) -> None:
    head = "| GPUs | GPU | Precision | TFLOPs per GPU |\n|--|--|--|--|\n"
    rows = (("A100", 140), ("A100", 170), ("V100", 20))  # a V100 has no TF32
    (tmp_path / "x.md").write_text(
        head + "".join(f"| 8 | {device} | fp32 | {rate} |\n" for device, rate in rows)
    )
    done = quick(tmp_path, "audit", "x.md", "--format", "json", "--fail-on", "never")
    found = [one for one in json.loads(done.out) if one["severity"] == "error"]
    assert [(one["rule"], one["line"]) for one in found] == [("R1b", 4), ("R1b", 5)]
