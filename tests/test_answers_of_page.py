"""The answers at the head of a page: sentences of few, a table of many."""

from pathlib import Path

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
