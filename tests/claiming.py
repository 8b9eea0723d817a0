"""Claims about two small documents, made, signed, and tampered with."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.claims.checked import Checked, checked
from bench.claims.make import claim
from bench.claims.question import parse_question
from bench.claims.signing import sign
from bench.claims.statement import as_text
from bench.decide.query import Query
from bench.project.read import read
from tests.making import table

DOCUMENT, QUESTION = "sweep.md", "best tokens_per_s_per_device for 1.3B on V100"
FASTEST = "|      2 |   1 |   1 |   8 |   1 |    23 |   44.4 | 27GB                  |"
Json = dict[str, Any]


def claimed(folder: Path, data: Path) -> Path:
    """A folder with two sources, a key, and a signed claim about them."""
    (folder / ".git").mkdir()
    (folder / "in").mkdir()
    shutil.copy(data / "tables" / "004_tr3m-1B3.md", folder / "in" / DOCUMENT)
    (folder / "in" / "other.md").write_text(table("8 | 2B | 8 | 1 | 1 | 4 | 512 | 9.5 | 90.1"))
    new_key(folder / "key")
    public = (folder / "key.pub").read_text()
    (folder / "allowed").write_text(f'a@example.org namespaces="bench-claim" {public}')
    text = made(folder, QUESTION)
    (folder / "claim.json").write_text(text)
    (folder / "claim.json.sig").write_bytes(sign(text.encode(), folder / "key"))
    return folder


def made(folder: Path, question: str, paths: tuple[str, ...] = ("in",)) -> str:
    """A claim about files of a folder."""
    warehouse, _, _ = read([folder / one for one in paths], folder)
    with warehouse:
        return as_text(claim(warehouse, folder, parse_question(question), Query()))


def new_key(file: Path) -> None:
    words = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "a@example.org", "-f", str(file))
    subprocess.run(words, check=True)


def verdicts(place: Path, *, allowed: bool = False) -> dict[str, str]:
    """The ways in which the claim there is false, each with its sentence."""
    return ways(checked(place / "claim.json", [place / "in"],
                        place / "allowed" if allowed else None, root=place))  # fmt: skip


def ways(found: Checked) -> dict[str, str]:
    assert found.outcome.exit_code == (
        found.outcome.verdicts[0].way.exit_code if found.outcome.verdicts else 0
    )
    return {one.way.value: one.sentence for one in found.outcome.verdicts}


def edited(home: Path, change: Callable[[Json], object]) -> bytes:
    """The claim with a change; its signature would tell, but not what it was."""
    made: Json = json.loads((home / "claim.json").read_text())
    change(made)
    return json.dumps(made).encode()


def replaced(place: Path, old: str, new: str, file: str = f"in/{DOCUMENT}") -> None:
    text = (place / file).read_text()
    assert old in text
    (place / file).write_text(text.replace(old, new, 1))
