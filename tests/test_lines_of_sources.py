"""The lines of sources that explanations and pages show: a text in use is read once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.explain.run import Lines
from bench.ingest.files.source_text import StoredText, text_as_read
from bench.schema.opening import open_read
from tests.program import quick
from tests.site_pages import TABLE


def test_a_build_reads_each_source_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document that states the budget of several is not read for each of their runs."""
    plan = "Llama 7B on A100, trained for 300B tokens."
    head = "| GPUs | TP | PP | MBS | GBS | tokens/s/GPU |\n|" + "---|" * 6 + "\n"
    for n in range(3):
        row = f"| 8 | 1 | 1 | 4 | 128 | {2000 + n} |\n"
        (folder / f"x{n}.md").write_text(f"# Training Llama 7B on A100\n\n{plan}\n\n{head}{row}")
    read = Counter[str]()

    def counted(root: Path, uri: str, stored: StoredText | None) -> tuple[list[str], str]:
        read[uri] += 1
        return text_as_read(root, uri, stored)

    monkeypatch.setattr("bench.explain.run.text_as_read", counted)
    assert quick(folder, "site", ".", "-o", "public").code == 0
    assert dict(read) == dict.fromkeys(["x0.md", "x1.md", "x2.md"], 1)


def test_texts_used_last_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (folder / f"{name}.md").write_text(f"{TABLE}{name}\n")
    assert quick(folder, "ingest", ".").code == 0
    monkeypatch.setattr("bench.explain.run._KEPT_BYTES", 1)
    with open_read(folder / "bench.duckdb") as warehouse:
        lines = Lines(warehouse, folder)
        assert all(lines.text(f"{name}.md", 1) for name in "abac")
        for name in "abc":
            (folder / f"{name}.md").unlink()
        assert [bool(lines.text(f"{name}.md", 1)) for name in "acb"] == [True, True, False]
