"""Documents that nobody tuned the reader to: changed so that their truth stays, none lies.

Each value of a row may become empty; a finding of grade error may vanish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bench.project.read import read
from tests.metamorphic import CHANGES, changed
from tests.metamorphic_rows import Run, runs_of, wrong
from tests.metamorphic_tables import Lines, load, text_of

ROOT = Path(__file__).resolve().parent.parent
OWN = sorted((ROOT / "data" / "tables").glob("0*.md"))
OTHERS = sorted((ROOT.parent / "shared" / "documents").glob("*__*.md"))
# The share of values that are still read; an unknown heading loses those below it. No document of
# ours has an aside that could move.
KEPT = dict.fromkeys(CHANGES, 0.95) | {"unknown_headings": 0.8, "transposed": 0.85}
del KEPT["moved_aside"]
A_DOCUMENT = 2  # kinds of change of each document of others; all of them in the slow test


@cache
def _read(path: Path) -> tuple[str, list[Run]]:
    """The text of a document and its rows, once for all changes."""
    text = path.read_text("utf-8")
    return text, runs_of(load(text))


@cache
def _reread(path: Path, kind: str, seed: int) -> tuple[list[Run], list[Run]]:
    """The rows of a document and of its changed text; none where the change does not apply."""
    text, before = _read(path)
    lines = changed(path.name, text, kind, seed) if before else []
    return (before, runs_of(lines)) if lines and lines != load(text) else ([], [])


def _lies(path: Path, kind: str, seed: int) -> Iterator[str]:
    before, after = _reread(path, kind, seed)
    yield from (f"{path.name}: {one}" for one in wrong(before, after))


@pytest.mark.parametrize("kind", CHANGES)
def test_rows_of_our_documents(kind: str) -> None:
    assert not [one for path in OWN for one in _lies(path, kind, 0)][:20]


@pytest.mark.parametrize("kind", KEPT)
def test_most_values_of_our_documents_are_still_read(kind: str) -> None:
    """A reader that reads nothing is never wrong."""
    pairs = [_reread(path, kind, 0) for path in OWN]
    before = sum(len(run.values) for runs, _ in pairs for run in runs)
    after = sum(len(run.values) for _, runs in pairs for run in runs)
    assert after >= KEPT[kind] * before > 0


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: str(path.stem)[:40])
def test_rows_of_other_documents(path: Path) -> None:
    first = A_DOCUMENT * OTHERS.index(path)
    kinds = [[*CHANGES][n % len(CHANGES)] for n in range(first, first + A_DOCUMENT)]
    assert not [one for kind in kinds for one in _lies(path, kind, 0)][:20]


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHANGES)
def test_rows_of_every_document(kind: str) -> None:
    assert not [one for path in (*OWN, *OTHERS) for one in _lies(path, kind, 1)][:20]


Findings = set[tuple[str, int]]  # rule and line of the document as it was
_ERRORS = """SELECT coalesce(t.uri, r.uri), f.rule, f.line FROM findings f
    LEFT JOIN tables t USING (table_id) LEFT JOIN runs r USING (run_id)
    WHERE f.severity = 'error'"""


def _errors(documents: Sequence[tuple[str, Lines]], folder: Path) -> dict[str, Findings]:
    """The findings of grade error of documents, by name, all of them audited at once."""
    folder.mkdir()
    found: dict[str, Findings] = {}
    texts = dict(documents)
    for name, lines in documents:
        (folder / f"{name}.md").write_text(text_of(lines), "utf-8")
        found[name] = set()
    warehouse, _, _ = read([folder], folder)
    with warehouse:
        for uri, rule, line in warehouse.rows(_ERRORS):
            name = Path(uri).stem
            found[name].add((rule, texts[name][line - 1].of or 0))
    return found


@cache
def _errors_before(paths: tuple[Path, ...]) -> dict[str, Findings]:
    """The errors of documents as they are, once for all changes of the same ones."""
    with TemporaryDirectory() as folder:
        documents = [(path.stem, load(_read(path)[0])) for path in paths]
        return _errors(documents, Path(folder) / "before")


def _new_errors(paths: Sequence[Path], kind: str, folder: Path) -> list[str]:
    """The errors of changed documents that they do not have as they were, by document.

    In two warehouses: a finding about copies would stand at one of them alone.
    """
    texts = {path.stem: load(_read(path)[0]) for path in paths}
    changes = {
        path.stem: lines for path in paths if (lines := changed(path.name, _read(path)[0], kind, 0))
    }
    copies = [(name, changes.get(name, text)) for name, text in texts.items()]
    before, after = _errors_before(tuple(paths)), _errors(copies, folder / "after")
    if kind == "transposed":  # a line of a turned table is no row of it: the rules count alone
        before, after = (
            {name: {(rule, 0) for rule, _ in found} for name, found in one.items()}
            for one in (before, after)
        )
    return [f"{name}: {sorted(new)}" for name in texts if (new := after[name] - before[name])]


@pytest.mark.parametrize("kind", ["section_of_another_model", "quotation", "unknown_headings"])
def test_errors_of_our_documents(kind: str, tmp_path: Path) -> None:
    assert not _new_errors(OWN, kind, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHANGES)
def test_errors_of_other_documents(kind: str, tmp_path: Path) -> None:
    """Of every third document, and each kind another third."""
    assert not _new_errors(OTHERS[[*CHANGES].index(kind) % 3 :: 3], kind, tmp_path)
