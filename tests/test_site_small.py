"""The pages of one small document: every statement behind them runs on this line of DuckDB."""

from pathlib import Path

from tests.program import quick

TABLE = """# Training of a 7B model on 8 H100 GPUs

| Model | GPUs | TP | MBS | GBS | Step time (s) | TFLOPs/GPU |
|---|---|---|---|---|---|---|
| 7B | 8 | 2 | 1 | 64 | 4.1 | 400 |
| 7B | 8 | 4 | 1 | 64 | 4.9 | OOM |
"""


def test_every_kind_of_page_is_written(folder: Path) -> None:
    (folder / "sweep.md").write_text(TABLE)
    done = quick(folder, "site", "sweep.md", "-o", "public")
    assert done.code == 0, done.text
    pages = {path.name for path in (folder / "public").rglob("*.html")}
    assert {"index.html", "compare.html", "findings.html", "failures.html", "sweep.html"} <= pages
    runs = [path.read_text("utf-8") for path in (folder / "public" / "runs").rglob("*.html")]
    assert len(runs) == 2 and all("TP" in text for text in runs)
