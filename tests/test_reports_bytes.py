"""Pages as files: the same bytes each time, charts beside them, templates of users."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench.schema import materialized
from tests.pages import PAGES, bare, page
from tests.program import bench, environment, quick

# The same bytes.

ROOT = Path(__file__).resolve().parent.parent
# One process for several commands: its seed is that of all hashes in it.
SEVERAL = """
import sys
from pathlib import Path
from tests.program import quick
for line in ("runs", "show 001:29", "report --format json"):
    done = quick(Path(sys.argv[1]), *line.split())
    assert done.code == 0 and done.out, done.text
    print(done.out)
"""


@pytest.mark.slow
def test_the_same_warehouse_gives_the_same_bytes(swept: Path) -> None:
    args = ("report", "--model", "1.3B")
    first = quick(swept, *args).out
    assert quick(swept, *args).out == first
    for seed in ("1", "2"):
        env = {"PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo", "LC_ALL": "C", "COLUMNS": seed + "00"}
        assert bench(swept, *args, env=env).out == first
    once, again = (
        subprocess.run(
            [sys.executable, "-c", SEVERAL, str(swept)], cwd=ROOT, check=True,
            stdout=subprocess.PIPE, env=environment({"PYTHONHASHSEED": seed}),
        ).stdout
        for seed in "12"
    )  # fmt: skip
    assert once == again != b""


def test_the_order_of_ingest_does_not_matter(data: Path, swept: Path, folder: Path) -> None:
    shutil.copytree(data, folder / "data")
    for path in sorted((folder / "data").rglob("*.*"), reverse=True):
        assert quick(folder, "ingest", str(path)).code in (0, 3)
    assert page(folder, "--model", "1.3B") == page(swept, "--model", "1.3B")
    assert page(folder) == page(swept)


@pytest.mark.slow
def test_a_folder_with_charts(swept: Path, folder: Path) -> None:
    for name in ("a", "b"):
        env = {"PYTHONHASHSEED": str(len(name)), "SOURCE_DATE_EPOCH": "0"} if name == "b" else None
        done = bench(swept, "report", "--model", "1.3B", "-o", str(folder / name), env=env)
        assert done.code == 0 and done.out == "", done.text
    files = sorted(path.name for path in (folder / "a").iterdir())
    assert files == [
        "1.3B-aggregate-pflops.png", "1.3B-aggregate-pflops.svg", "1.3B-days.png",
        "1.3B-days.svg", "1.3B-scaling.png", "1.3B-scaling.svg", "1.3B.md",
    ]  # fmt: skip
    for file in files:
        assert (folder / "a" / file).read_bytes() == (folder / "b" / file).read_bytes(), file
        assert f"wrote {folder / 'b' / file}" in done.err
    text = (folder / "a/1.3B.md").read_text()
    assert sorted(re.findall(r"!\[.*?\]\((.*?)\)", text)) == [f for f in files if "svg" in f]
    without = re.sub(r"!\[.*\n\n\*.*\*\n\n", "", text)
    assert bare(without) == page(swept, "--model", "1.3B"), "stdout leaves the pictures out"
    again = quick(swept, "report", "--model", "1.3B", "-o", str(folder / "a"))
    assert again.code == 0, "writes over its own files"


# A user's templates.


def test_a_users_template_goes_before_ours(swept: Path, folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine/model.md.j2").write_text(
        "# {{ name }}\n{% for r in ranked[:2] %}\n{{ r.uri | short }}: {{ r.days | days }}\n"
        "{% endfor %}\n{% include 'part.j2' %}"
    )
    (folder / "mine/part.j2").write_text("{{ left_out | length }} left out\n")
    wanted = r"# 1\.3B\n004: 25\.4\n004: 25\.4\n\d+ left out\n"
    line = ["--model", "1.3B", "--db", str(swept / "bench.duckdb")]
    assert re.fullmatch(wanted, page.__wrapped__(folder, *line, "--templates", "mine"))
    (folder / "bench.toml").write_text('templates = "mine"\n')
    assert re.fullmatch(wanted, page.__wrapped__(folder, *line))
    (folder / "mine/model.md.j2").unlink()
    assert page.__wrapped__(folder, *line).startswith("# 1.3B: measured speed"), (
        "ours where theirs is none"
    )


def test_the_environment_of_children_is_clean() -> None:
    assert not {"NO_COLOR", "COLUMNS", "PYTHONHASHSEED"} & set(environment())


@pytest.mark.parametrize("name", PAGES)
def test_a_large_warehouse_gives_the_same_page(
    swept: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(materialized, "SMALL", 0)
    args = PAGES[name].split()
    assert bare(quick(swept, *args).out) == page(swept, *args[1:])
