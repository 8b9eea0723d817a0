"""The scripts of the page: small, checked by TypeScript, and no way for text to become markup."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.site import bundle

ROOT = Path(__file__).parent.parent
PIECES = sorted((ROOT / "site" / "browser").glob("*/*.js"))
TSC = ROOT / "out" / "npm" / "node_modules" / ".bin" / "tsc"
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="NOT TESTED: node is not installed"
)
MARKUP = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser"


def test_each_script_is_under_40_kb() -> None:
    sizes = {name: len(text.encode()) for name, text in bundle.scripts().items()}
    assert set(sizes) == {"site.js", "curves.js"}
    assert all(10_000 < size < 40_000 for size in sizes.values()), sizes


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: f"{piece.parent.name}/{piece.name}")
def test_a_piece_is_checked_and_makes_no_markup_of_text(piece: Path) -> None:
    text = piece.read_text()
    assert text.startswith("// @ts-check\n")
    assert not re.findall(MARKUP, text)
    assert len(text.splitlines()) < 300


def test_what_is_shipped_is_the_pieces_without_comments() -> None:
    text = bundle.scripts()["curves.js"]
    assert "class Plot {" in text and "/** " not in re.sub(r"/\*\* @type [^*]*\*/", "", text)
    assert text.count("`") == sum(
        re.sub(r"^\s*(/?\*|//).*$", "", piece.read_text(), flags=re.MULTILINE).count("`")
        for piece in PIECES
        if piece.parent.name == "curves"
    )


@pytest.mark.services
@pytest.mark.skipif(not TSC.exists(), reason="NOT TESTED: TypeScript is not installed (npm)")
def test_typescript_finds_no_fault() -> None:
    done = subprocess.run(
        [TSC, "-p", ROOT / "tests" / "services"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.services
@pytest.mark.skipif(
    shutil.which("node") is None, reason="NOT TESTED: node is not installed; make test-all does"
)
@pytest.mark.parametrize("name", ["site.js", "curves.js"])
def test_what_is_shipped_is_a_program(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(bundle.scripts()[name])
    subprocess.run(["node", "--check", tmp_path / name], check=True)


@pytest.mark.services
@pytest.mark.skipif(
    shutil.which("node") is None, reason="NOT TESTED: node is not installed; make test-all does"
)
def test_long_names_of_a_legend_stay_apart() -> None:
    text = bundle.scripts()["curves.js"]
    program = text[text.index("function cutName") :].partition("\n}\n")[0] + "\n}\n"
    names = [f"MoE_gpt3-0.125B-tokendropping-graduallyIncrease:{line}" for line in (2704, 4041)]
    program += "".join(f"console.log(cutName({name!r}));" for name in names)
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"MoE_gpt3-…{name[-20:]}" for name in names]
