"""The answers at the head of a page: sentences of few, a table of many."""

from pathlib import Path

from bench.project.short_names import ShortNames
from bench.reports.answer import by_kind
from tests.program import quick


def document(folder: Path, models: int) -> Path:
    """A document with one run of each of so many models."""
    rows = "".join(f"| {size}B | 8 | 1 | {size}.5 |\n" for size in range(1, models + 1))
    path = folder / "many.md"
    path.write_text(
        "# Models on H100\n\nSeq length 2048, global batch size 64.\n\n"
        f"| Model | GPUs | TP | Sec/it |\n|---|---|---|---|\n{rows}"
    )
    return path


def test_many_models_are_one_table(folder: Path) -> None:
    page = quick(folder, "report", str(document(folder, 9))).out
    answers = page.split("**Answers**")[1].split("\n## ")[0]
    assert "The fastest of each model and system:\n" in answers
    rows = [line for line in answers.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + 9 and rows[2].startswith("| 1B"), "the fastest first"
    assert "days per 100B tokens: " not in answers, "no sentence beside its row"


def test_few_models_are_sentences(folder: Path) -> None:
    page = quick(folder, "report", str(document(folder, 4))).out
    answers = page.split("**Answers**")[1].split("\n## ")[0]
    assert answers.count("\n- ") == 5 and "| " not in answers


CONTRADICTED = """# 70B on H100

Sequence length 8192.

| Nodes | GPUs | TP | GBS | Samples/s | Tokens/s/GPU |
|---|---|---|---|---|---|
| 4 | 32 | 8 | 32 | 7.8 | 998.4 |

## Later

| Nodes | GPUs | TP | GBS | Samples/s | Tokens/s/GPU |
|---|---|---|---|---|---|
| 1 | 8 | 8 | 8 | 2.0 | 1024 |
| 2 | 16 | 8 | 16 | 3.9 | 998.4 |
"""


def test_a_contradiction_of_a_document_counts_in_each_of_its_tables(folder: Path) -> None:
    """No row leads because its table has fewer rows that contradict the same statement."""
    (folder / "x.md").write_text(CONTRADICTED)
    page = quick(folder, "report", "x.md").out
    answers = page.split("**Answers**")[1].split("\n## ")[0]
    assert "- 70B on H100 is not ranked: x:7 and 2 other rows (R1j: rates contradict" in answers
    assert "The fastest as printed would take 36.2 days per 100B tokens" in answers
    assert "8,192 (line 3)" in page


def test_a_ranking_without_rows_says_why_and_what_to_type(folder: Path) -> None:
    (folder / "x.md").write_text(CONTRADICTED)
    told = quick(folder, "best", "x.md").out
    assert told.startswith("None of 3 runs can be ranked: doubted (R1j): rates contradict")
    assert "bench audit shows what contradicts itself" in told
    (folder / "y.md").write_text(
        "# 70B on H100\n\n| GPUs | TP | TFLOPs |\n|---|---|---|\n| 8 | 8 | 400 |\n| 8 | 4 | 390 |\n"
    )
    told = quick(folder, "days", "y.md").out
    assert told.startswith("None of 2 runs has a rate that days can be computed from: no tokens/s")


RIVALS = """# Throughput of a 7B model on 8 H100 GPUs, sequence length 2048

| MBS | GBS | Megatron-LM tokens/s/GPU | DeepSpeed tokens/s/GPU |
|---|---|---|---|
| 1 | 64 | 9100 | 8700 |
| 2 | 64 | 9800 | 9300 |
| 4 | 64 | 10400 | 9950 |
"""


def test_rivals_of_one_line_are_named_and_compared(folder: Path) -> None:
    (folder / "r.md").write_text(RIVALS)
    page = quick(folder, "report", "r.md").out
    assert "topology not stated, MBS 4, Megatron-LM (r:7)" in page
    assert (
        "- Megatron-LM is 1.05x faster than DeepSpeed (3 of 3 pairs, geometric mean 1.05x)" in page
    )
    assert "GBS 64, Megatron-LM on H100: 83,200 tokens/s" in quick(folder, "best", "r.md").out
    assert "MBS 4, GBS 64, Megatron-LM (r:7)." in quick(folder, "days", "r.md").out


def test_many_batches_are_a_range_and_what_is_slower_has_its_mean_so(folder: Path) -> None:
    rows = "".join(
        f"| {2**at} | {2**at} | {time} |\n" for at, time in enumerate((4, 5, 6, 7, 8, 9, 10))
    )
    head = "# 7B on 8 H100, sequence length 2048\n\n| MBS | GBS | Sec/it |\n|---|---|---|\n"
    (folder / "t.md").write_text(head + rows)
    assert "| 1 to 64 (7 values) | *2,048 to 131,072 (7 values)* |" in " ".join(
        quick(folder, "report", "t.md").out.split()
    )
    (folder / "slow.md").write_text(
        RIVALS.replace("87", "70").replace("93", "74").replace("9950", "7900")
    )
    said = quick(folder, "compare", "--by", "framework", "--base", "Megatron-LM", "slow.md").out
    assert "slower than Megatron-LM (3 of 3 pairs, geometric mean 1.3" in said


def test_a_median_of_several_jobs_keeps_its_digits(folder: Path) -> None:
    rows = "".join(f"| 8 | 1 | {time} |\n" for time in ("10.3", "9.9", "12.4"))
    (folder / "jobs.md").write_text(
        "# 1.3B on H100\n\nSeq length 2048, global batch size 64.\n\n"
        f"| GPUs | TP | Sec/it |\n|---|---|---|\n{rows}"
    )
    page = quick(folder, "report", "jobs.md").out
    assert "10.30 s/it, median of 3 jobs" in page
    assert "|  10.30 |    3 |" in page, "their spread is not the precision of the median"


def test_a_log_of_rates_alone_is_answered_by_them(folder: Path) -> None:
    head = "[titan] 2026-02-24 19:46:17,508 - root - INFO - step: "
    line = "{} {}  loss:  7.62  grad_norm: 26.62  memory: 66.91GiB(37.51%)  {}\n"
    rates = "tps: 10,007  tflops: 313.36  mfu: 13.93%"
    (folder / "rates.log").write_text("".join(line.format(head, n, rates) for n in range(4, 9)))
    answers = quick(folder, "report", "rates.log").out.split("**Answers**")[1].split("\n## ")[0]
    assert "**10,010 tokens/s/device**" in answers and "MFU 13.9% as printed" in answers
    assert "(rates:1)" in answers and "days to train are unknown" in answers


def test_each_model_is_answered_before_other_machines_of_one(folder: Path) -> None:
    sizes = {16: 120, 32: 140, 64: 118, 128: 110}
    heads = "".join(f" {size}B TFLOP/sec/chip | {size}B MFU |" for size in sizes)
    rows = "".join(
        f"| {n}x v5e-256 |{''.join(f' {top - n} | {top / 2 - n}% |' for top in sizes.values())}\n"
        for n in (1, 2, 4, 8, 16, 32)
    )
    (folder / "chips.md").write_text(
        f"# High performance configs on TPU v5e\n\n| Hardware |{heads}\n{'|---' * 9}|\n{rows}"
    )
    answers = quick(folder, "report", "chips.md").out.split("**Answers**")[1].split("\n## ")[0]
    first = [line.split()[1] for line in answers.splitlines() if line.startswith("- ")]
    assert first[:4] == ["32B", "16B", "64B", "128B"] and len(first) == 6


def test_many_reasons_of_exclusion_are_counted_by_kind() -> None:
    def kinds(*reasons: str) -> list[tuple[str, int]]:
        rows = [{"left_out": reason, "uri": "a.md", "line": 1} for reason in reasons]
        return [(kind, len(of)) for kind, of in by_kind(ShortNames(["a.md"]), rows)]

    few = ("doubted (R1): one", "doubted (R2): two", "oom")
    assert kinds(*few) == [(reason, 1) for reason in few]
    many = (*few, *(f"oom: {n} GB" for n in range(8)), "copy of a:3", "copy of a:4", "copy of a:5")
    assert kinds(*many) == [("oom", 9), ("copy", 3), ("doubted", 2)]


def test_what_documents_print_and_plan_stands_in_the_sentence(folder: Path) -> None:
    head = "| GPUs | TP | Tokens/s/GPU | MFU |\n|---|---|---|---|\n"
    (folder / "a.md").write_text(
        "# 7B on H100\n\nTrained for 300B tokens.\n\nLater trained for 1T tokens.\n\n"
        f"{head}| 8 | 1 | 10,000 | 45.0% |\n"
    )
    (folder / "b.md").write_text(f"# 7B on A100\n\n{head}| 8 | 1 | 4,000 | 55.0% |\n")
    page = quick(folder, "report", "--model", "7B", "a.md", "b.md").out
    first, second = page.split("**Answers**\n\n")[1].split("\n\n")[0].splitlines()[:2]
    assert "14.5 days per 100B tokens (43.4 days for its 300B tokens; 144.7 days for its" in first
    assert ", MFU 45.0% as printed" in first and ", MFU 55.0% as printed" in second
    assert "for its" not in second
    days = [line for line in page.splitlines() if line.startswith("| Days per 100B tokens")]
    assert "| Days for 300B tokens | Days for 1T tokens |" in days[0]
