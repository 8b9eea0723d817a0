"""Sources and signatures that changed since the claim: each way is found and named."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from bench.claims.signing import check, sign, signature_of
from bench.claims.verdict import Fault
from tests.claiming import (
    DOCUMENT,
    FASTEST,
    claimed,
    made,
    new_key,
    replaced,
    verdicts,
)
from tests.making import table


@pytest.fixture(scope="module")
def home(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return claimed(tmp_path_factory.mktemp("claimed"), data)


@pytest.fixture
def place(home: Path, folder: Path) -> Path:
    """A copy of it, to be tampered with."""
    shutil.copytree(home, folder, dirs_exist_ok=True)
    return folder


def _digit(place: Path) -> None:
    replaced(place, FASTEST, FASTEST.replace("23", "21"))


def _no_source(place: Path) -> None:
    for file in (place / "in").iterdir():
        file.unlink()


def _faster_source(place: Path) -> None:
    text = (place / "in" / DOCUMENT).read_text().replace(FASTEST, FASTEST.replace("23", "20"))
    (place / "in" / "newer.md").write_text(text.replace("44.4", "51.1"))


SOURCES: Mapping[str, tuple[Callable[[Path], object], tuple[Fault, ...]]] = {
    "a changed digit": (_digit, (Fault.CHANGED_ROW, Fault.CHANGED_SOURCE)),
    "a removed row": (
        lambda place: replaced(place, f"{FASTEST}\n", ""), (Fault.REMOVED_ROW, Fault.CHANGED_SOURCE)
    ),
    "a removed source": (lambda place: (place / "in" / DOCUMENT).unlink(), (Fault.MISSING_SOURCE,)),
    "another source removed": (
        lambda place: (place / "in" / "other.md").unlink(), (Fault.MISSING_SOURCE,)
    ),
    "no source at all": (
        _no_source, (Fault.MISSING_SOURCE,)
    ),
    "a faster row in the same source": (
        lambda place: replaced(
            place, FASTEST, FASTEST + "\n" + FASTEST.replace("23", "20").replace("44.4", "51.1")
        ),
        (Fault.BETTER_ROW, Fault.CHANGED_SOURCE),
    ),
    "a faster row in another source": (_faster_source, (Fault.BETTER_ROW, Fault.ADDED_SOURCE)),
    "words beside": (
        lambda place: replaced(place, "# ", "# Old: "), (Fault.CHANGED_SOURCE,)
    ),
    "a source added": (
        lambda place: (place / "in" / "more.md").write_text(
            table("4 | 2B | 4 | 1 | 1 | 4 | 512 | 19.5 | 88.1")
        ),
        (Fault.ADDED_SOURCE,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SOURCES)
def test_changed_sources_are_named(place: Path, what: str) -> None:
    change, expected = SOURCES[what]
    change(place)
    found = verdicts(place)
    assert tuple(found) == expected, found
    if what == "a changed digit":
        assert "|    21 |" in found["changed-row"] and "|    23 |" in found["changed-row"]


def signed(place: Path, *, allowed: bool = True) -> Fault | None:
    """What is wrong with the signature alone."""
    file = place / "claim.json"
    signers = place / "allowed" if allowed else None
    wrong, _ = check(file.read_bytes(), signature_of(file), signers)
    return wrong.way if wrong else None


def test_signatures(place: Path) -> None:
    assert signed(place) is None
    text = (place / "claim.json").read_text()
    (place / "claim.json").write_text(text.replace("5698.7", "5698.8"))
    assert list(verdicts(place, allowed=True)) == [Fault.SIGNATURE, Fault.ANSWER]
    assert signed(place, allowed=False) is Fault.SIGNATURE, "whoever signed, it was something else"
    (place / "claim.json").write_text(text)
    (place / "key").unlink()
    (place / "key.pub").unlink()
    new_key(place / "key")
    signature_of(place / "claim.json").write_bytes(sign(text.encode(), place / "key"))
    assert signed(place) is Fault.SIGNER
    assert signed(place, allowed=False) is None
    signature_of(place / "claim.json").write_text("no signature")
    assert signed(place) is Fault.SIGNATURE
    signature_of(place / "claim.json").unlink()
    assert signed(place) is Fault.UNSIGNED
    assert signed(place, allowed=False) is None


def test_a_doubted_row_is_named(folder: Path, data: Path) -> None:
    """A claim of a value that the audit doubts; that the claimant closes a finding is no matter."""
    (folder / "in").mkdir()
    shutil.copy(data / "tables" / "001_1.3b_benchmarking.md", folder / "in")
    (folder / "claim.json").write_text(made(folder, "value tflops for 1.3B where line = 45"))
    found = verdicts(folder)
    assert list(found) == [Fault.DOUBTED] and "R6" in found["doubted"], found
