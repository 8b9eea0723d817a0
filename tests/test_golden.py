"""Every field of 200 published rows as a careful reader has it, also when the documents change."""

import json
import re
from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from bench.vocabulary.cell_pieces import format_pieces
from tests.perturb import KINDS, perturbed
from tests.published import Document, load
from tests.scoring import (
    REQUIRED,
    Expected,
    Golden,
    Score,
    expected_rows,
    read_folder,
    read_golden,
    score,
)

SEEDS = range(5)


@pytest.fixture(scope="module")
def golden(data: Path) -> list[Golden]:
    return read_golden(data / "golden" / "golden.json")


def passed(result: Score, title: str) -> None:
    """Print the score, and fail below 100 % of what is required."""
    print(f"\n{result.text(title)}")
    assert sum(result.total[kind] for kind in REQUIRED) == 3480
    assert not result.failures, "\n".join(map(str, result.failures[:20]))


def test_every_required_field_of_our_copies(data: Path, golden: list[Golden]) -> None:
    rows = list(expected_rows(golden))
    assert len({row.table for row in rows}) == 40
    assert len(rows) == 200
    passed(score(rows, read_folder(data / "tables")), "data/tables")


def test_every_required_field_of_the_originals(shared: Path) -> None:
    rows = list(expected_rows(read_golden(shared / "golden" / "golden_seeds.json")))
    passed(score(rows, read_folder(shared / "seeds")), "shared/seeds")


def write(documents: list[Document], folder: Path) -> list[Expected]:
    """Write changed documents; what to expect of them."""
    for document in documents:
        (folder / document.name).write_bytes(document.text().encode())
    return [row for document in documents for row in document.expected()]


def changed(folder: Path, golden: list[Golden], kind: str, seed: int) -> list[Document]:
    """Every document of a folder with one kind of change."""
    found = {path.name[:3]: path for path in sorted(folder.glob("[0-9]*.md"))}
    return [
        perturbed(document, path.name, path.read_text("utf-8"), kind, seed)
        for document in golden
        for path in [found[document["file"][:3]]]
    ]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_changed_copies(
    data: Path, golden: list[Golden], tmp_path: Path, kind: str, seed: int
) -> None:
    documents = changed(data / "tables", golden, kind, seed)
    rows = write(documents, tmp_path)
    assert_different(documents, rows, data / "tables", golden, kind)
    passed(score(rows, read_folder(tmp_path)), f"data/tables, {kind}, seed {seed}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_changed_originals(shared: Path, tmp_path: Path, seed: int) -> None:
    golden = read_golden(shared / "golden" / "golden_seeds.json")
    rows = write(changed(shared / "seeds", golden, "all", seed), tmp_path)
    passed(score(rows, read_folder(tmp_path)), f"shared/seeds, all, seed {seed}")


def assert_different(
    documents: list[Document], rows: list[Expected], folder: Path, golden: list[Golden], kind: str
) -> None:
    """Text changed in every document, and so did what it concerns of the expectation."""
    for document in documents:
        assert document.text() != (folder / document.name).read_text("utf-8")
    before = {(row.document, row.table): row for row in expected_rows(golden)}
    after = {(row.document, row.table): row for row in rows}
    assert before.keys() == after.keys()
    if kind in ("numbers", "all"):
        for key, row in after.items():
            old = before[key].values
            names = [name for name, of in row.classes.items() if of in REQUIRED]
            assert sum(row.values[name] != old[name] for name in names) >= 3, key
    if kind in ("spaces", "split", "all"):
        assert [row.line for row in rows] != [row.line for row in expected_rows(golden)]


def test_unchanged_by_loading(data: Path, golden: list[Golden]) -> None:
    """The perturber itself neither loses a line nor alters what is expected."""
    for document in golden:
        path = data / "tables" / document["file"]
        loaded = load(document, path.name, path.read_text("utf-8"))
        assert loaded.text().count("\n") == path.read_text("utf-8").count("\n")
        assert loaded.expected() == list(expected_rows([document]))


def test_every_cell_comes_back_from_what_was_parsed(data: Path) -> None:
    """The typed pieces of each cell of the 40 tables, formatted, are its text."""
    with in_memory() as warehouse:
        ingest_into(warehouse, sorted((data / "tables").glob("[0-9]*.md")), data / "tables")
        cells = warehouse.rows("SELECT raw, pieces, name, line FROM cells")
        assert len(cells) > 2000
        other = [cell for cell in cells if format_pieces(json.loads(cell[1])) != cell[0]]
        assert not other
        words = {raw for raw, pieces, name, _ in cells if name and _kinds(pieces) == {"word"}}
        assert all(re.fullmatch(r"[\d.]+[BM]|\D+", raw) for raw in words)


def _kinds(pieces: str) -> set[str]:
    return {piece[0] for piece in json.loads(pieces)}
