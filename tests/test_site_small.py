"""The pages of one small document: every statement behind them runs on this line of DuckDB."""

from pathlib import Path

from bench.site.findings import alike_once, spans
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


def test_findings_that_say_the_same_are_one_row_with_all_lines() -> None:
    def finding(line: int, evidence: str) -> dict[str, object]:
        named = dict.fromkeys(("rule", "severity", "title", "suggestion", "closed"))
        return {**named, "uri": "a.md", "evidence": evidence, "lines": [line]}

    made = alike_once([finding(7, "x"), finding(9, "y"), finding(8, "x"), finding(11, "x")])
    assert [(one["count"], spans(one["lines"])) for one in made] == [
        (3, "7\u20138, 11"),
        (1, "9"),
    ]


def test_runs_without_a_model_are_listed_but_not_ranked(folder: Path) -> None:
    table = "| GPUs | TP | Tokens/s/GPU |\n|--|--|--|\n| 8 | 1 | 4000 |\n| 8 | 2 | 3900 |\n"
    (folder / "named.md").write_text(f"# 7B on H100\n\n{table}")
    (folder / "other.md").write_text(f"# Throughput on A100\n\n{table.replace('000', '001')}")
    assert quick(folder, "site", "named.md", "other.md", "-o", "public").code == 0
    overview = (folder / "public" / "index.html").read_text("utf-8")
    best = overview.partition('id="best"')[2].partition("</table>")[0]
    assert "7B" in best and "A100" not in best
    compare = (folder / "public" / "compare.html").read_text("utf-8")
    assert compare.count('data-run="') == 4 and "4,001" in compare
    [page] = (folder / "public" / "models").glob("model-not-stated*.html")
    text = page.read_text("utf-8")
    assert "none is the fastest of them" in text and "<strong>" not in text.partition("Charts")[0]
