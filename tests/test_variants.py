"""Tables of one document with equal configurations: variants by the author's words, or repeats."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest.documents.tables import read_markdown
from tests.deciding import answer
from tests.program import quick

HEAD = "| MBS | Step time (s) | TFLOPS |\n|--|--|--|\n"


def table(*rows: tuple[int, float, float]) -> str:
    return HEAD + "".join(f"| {mbs} | {time} | {flops} |\n" for mbs, time, flops in rows) + "\n"


SLOW = table((1, 4.12, 101.5), (2, 7.55, 110.5))
FAST = table((1, 3.32, 126.5), (2, 6.05, 138.5))


def variants(text: str) -> list[object]:
    """The variant of each run, as stored; None: of no variant."""
    rows, _ = read_markdown(f"# Llama 7B on 8 H100, sequence length 2048\n\n{text}", "s")
    named = {
        row["run_id"]: row["value"]
        for row in rows.by_table["env_flags"]
        if row["name"] == "variant"
    }
    return [named.get(run["run_id"]) for run in rows.by_table["runs"]]


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("## Baseline\n\n", "## With fused kernels\n\n", ("Baseline", "With fused kernels")),
        ("**Rank 4:**\n\n", "**Rank 32:**\n\n", ("Rank 4", "Rank 32")),
        ("- torch 2.1\n\n", "- torch 2.2\n\n", ("torch 2.1", "torch 2.2")),
        ("### 3.1 DDP\n\n", "### 3.2 DDP, tuned\n\n", ("DDP", "DDP; tuned")),
        ("As it is:\n\n", "With the new loader:\n\n", ("As it is", "With the new loader")),
        ("", "## With prefetch\n\n", (None, "With prefetch")),
        ("", "", ("table 1", "table 2")),
        ("## Small\n\nTimes:\n\n", "## Large\n\nTimes:\n\n", ("Small", "Large")),
        (
            "## Before (run 1)\n\n",
            "## After (run 2)\n\n",
            ("Before (run 1)", "After (run 2)"),
        ),
    ],
)
def test_tables_are_variants_by_the_words_above(
    first: str, second: str, names: tuple[str | None, str | None]
) -> None:
    assert variants(first + SLOW + second + FAST) == [names[0]] * 2 + [names[1]] * 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("**Run 1:**\n\n", "**Run 2:**\n\n"),
        ("## Trial 1\n\n", "## Trial 2\n\n"),
        ("## Sweep, seed 1\n\n", "## Sweep, seed 2\n\n"),
        ("", "## Repeated measurement\n\n"),
        ("## First run\n\n", "## Second run\n\n"),
    ],
)
def test_what_the_text_calls_repeats_is_repeated(first: str, second: str) -> None:
    assert variants(first + SLOW + second + FAST) == [None] * 4


def test_a_table_that_shows_the_same_runs_again_is_no_variant() -> None:
    again = table((1, 4.1, 101.5), (2, 7.55, 110.5))
    memory = "| MBS | Memory (GB) |\n|--|--|\n| 1 | 31.2 |\n| 2 | 44.1 |\n"
    assert variants(f"## Speed\n\n{SLOW}## Best\n\n{again}") == [None] * 4
    assert variants(f"## Speed\n\n{SLOW}## Memory\n\n{memory}") == [None] * 4


def test_tables_that_share_some_of_their_rows_are_no_variants() -> None:
    other = table((1, 4.72, 91.5), (4, 8.05, 128.5), (8, 15.1, 131.0))
    assert variants(f"## Sweep\n\n{SLOW}## Larger batches\n\n{other}") == [None] * 5


def test_a_single_row_of_another_table_is_a_variant_of_it() -> None:
    one = table((2, 6.05, 138.5))
    assert variants(f"## FSDP\n\n{SLOW}## FSDP + prefetch\n\n{one}") == [
        "FSDP", "FSDP", "FSDP + prefetch",
    ]  # fmt: skip


def test_a_column_of_settings_tells_rows_apart_without_a_variant() -> None:
    head = "| MBS | Sampler | Step time (s) |\n|--|--|--|\n"
    one, two = f"{head}| 1 | packed | 4.12 |\n\n", f"{head}| 1 | padded | 6.32 |\n\n"
    assert variants(f"## A\n\n{one}## B\n\n{two}") == [None, None]
    assert variants(f"## A\n\n{one}## B\n\n{one.replace('4.12', '5.12')}") == ["A", "B"]


def test_variants_are_ranked_and_compared(folder: Path) -> None:
    text = "# Llama 7B on 8 H100, sequence length 2048, GBS 64\n\n"
    (folder / "t.md").write_text(f"{text}## Baseline\n\n{SLOW}## With fused kernels\n\n{FAST}")
    ranked = answer(folder, "best", "t.md")
    assert [row["jobs"] for row in ranked] == [1] * 4
    assert [row["settings"] for row in ranked] == [
        "variant=With fused kernels", "variant=Baseline",
    ] * 2  # fmt: skip
    said = quick(folder, "compare", "--by", "variant", "t.md").out
    assert "variant With fused kernels is 1.24x to 1.25x faster than variant Baseline" in said
    only = answer(folder, "best", "t.md", "--where", "variant = 'Baseline'")
    assert {row["settings"] for row in only} == {"variant=Baseline"}


def test_tables_that_no_words_tell_apart_are_no_effect(folder: Path) -> None:
    (folder / "t.md").write_text(
        f"# Llama 7B on 8 H100, sequence length 2048, GBS 64\n\n{SLOW}{FAST}"
    )
    page = quick(folder, "report", "t.md").out
    assert "Fastest" in page
    assert not any(words in page for words in ("the speed of", "faster than"))


def test_a_plan_of_missing_rows_sets_no_variable_for_a_variant(folder: Path) -> None:
    rows = SLOW.replace("| 7.55 | 110.5 |", "| - | - |")
    text = f"# GPT 10M\n\n## A\n\n{rows}## B\n\n{FAST}"
    assert variants(text) == ["A", "A", "B", "B"]
    (folder / "t.md").write_text(text)
    plan = quick(folder, "launch", "--missing", "t.md:1")
    assert "mbs = 2" in plan.out and "variant" not in plan.out
