"""Claims that were tampered with: each way is found and named; hostile files are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from bench.claims.checked import checked
from bench.claims.statement import LARGEST, parse
from bench.claims.verdict import Fault
from bench.claims.verify import verify
from bench.project.read import read
from bench.schema.errors import BenchError
from bench.schema.warehouse import Warehouse
from tests.claiming import (
    FASTEST,
    Json,
    claimed,
    edited,
    ways,
)


@pytest.fixture(scope="module")
def home(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return claimed(tmp_path_factory.mktemp("claimed"), data)


@pytest.fixture(scope="module")
def opened(home: Path) -> Iterator[Warehouse]:
    """The sources as whoever checks reads them, once for all claims about them."""
    warehouse, _, _ = read([home / "in"], home, given=())
    with warehouse:
        yield warehouse


def predicate(**change: object) -> Callable[[Json], object]:
    return lambda made: made["predicate"].update(change)


def part(name: str, **change: object) -> Callable[[Json], object]:
    return lambda made: made["predicate"][name].update(change)


def _zeros(made: Json) -> None:
    made["predicate"]["formulas"]["metrics/tokens_per_s"] = "0" * 64


def _other_formula(made: Json) -> None:
    made["predicate"]["formulas"]["formulas/F99"] = "0" * 64


def _less_formulas(made: Json) -> None:
    del made["predicate"]["formulas"]["metrics/step_time"]


def _second(made: Json) -> None:
    """The claimant passes off a slower row of the source as the best."""
    said = made["predicate"]
    said["result"]["value"] = 5243.0
    said["rows"] = [
        said["rows"][0]
        | {"line": 46, "text": "|      2 |   1 |   4 |   2 |   1 |    25 |   40.8 | 19GB"
           "                  |"}
    ]  # fmt: skip


def _other_version(made: Json) -> None:
    said = made["predicate"]
    said["tool"]["version"], said["result"]["value"] = "0.0.1", 5600.0


def _line_text(made: Json) -> None:
    made["predicate"]["rows"][0]["text"] = FASTEST.replace("27GB", "26GB")


def _leaf(made: Json) -> None:
    made["predicate"]["derivation"]["inputs"][0]["inputs"][1]["place"]["text"] = "24"


def _remark(made: Json) -> None:
    made["predicate"]["derivation"]["inputs"][0]["inputs"][1]["note"] = "measured by the vendor"


def _row_of_another(made: Json) -> None:
    """A second row that says the same, quoted rightly, which the answer does not rest on."""
    said = made["predicate"]
    said["rows"].append(
        said["rows"][0] | {"line": 45, "text": "|      2 |   1 |   2 |   4 |   1 |    23 |   44.4 |"
                           " 21GB                  |"}
    )  # fmt: skip


def _lines_of_subject(made: Json) -> None:
    made["subject"][0]["annotations"]["lines"] += 1


TAMPERED: Mapping[str, tuple[Callable[[Json], object], Fault]] = {
    "the value": (part("result", value=5999.0), Fault.ANSWER),
    "the unit": (part("result", unit="tokens/s"), Fault.ANSWER),
    "the number of rows": (part("result", runs=24), Fault.ANSWER),
    "the model that is asked for": (part("question", model="13B"), Fault.ANSWER),
    "a condition that nothing fits": (part("question", where="tp = 64"), Fault.ANSWER),
    "a condition in SQL": (
        part("question", where="tp = 1 or run_id in (select 'x')"), Fault.ANSWER
    ),
    "a slower row as the best": (_second, Fault.BETTER_ROW),
    "the digest of a formula": (_zeros, Fault.FORMULA),
    "a formula that nobody has": (_other_formula, Fault.FORMULA),
    "a formula left out": (_less_formulas, Fault.FORMULA),
    "another version with another answer": (_other_version, Fault.VERSION),
    "the text of a line": (_line_text, Fault.ROWS),
    "another row": (_row_of_another, Fault.ROWS),
    "the length of a subject": (_lines_of_subject, Fault.ROWS),
    "a number within the derivation": (_leaf, Fault.DERIVATION),
    "a subject left out": (lambda made: made["subject"].pop(0), Fault.ADDED_SOURCE),
    "the digest of a subject": (
        lambda made: made["subject"][0]["digest"].update(sha256="0" * 64), Fault.CHANGED_SOURCE
    ),
    "another predicate": (lambda made: made.update(predicateType="urn:x"), Fault.INVALID),
    "a training length that nothing asks for": (part("question", tokens=3), Fault.INVALID),
    "an end of a value that has none": (part("result", low=1.0), Fault.ANSWER),
    "the twelfth digit": (part("result", value=5698.78260871), Fault.ANSWER),
    "a metric that nobody has": (part("question", metric="tokens_per_dollar"), Fault.INVALID),
    "a remark within the derivation": (_remark, Fault.DERIVATION),
    "an unknown part": (predicate(note="x"), Fault.INVALID),
    "a number as text": (part("result", value="5699"), Fault.INVALID),
    "a row of no subject": (
        lambda made: made["predicate"]["rows"][0].update(source="0" * 64), Fault.INVALID
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERED)
def test_a_tampered_claim_is_named(home: Path, opened: Warehouse, what: str) -> None:
    change, way = TAMPERED[what]
    text = edited(home, change)
    if way is Fault.INVALID:
        with pytest.raises(BenchError, match="not a claim"):
            parse(text)
        return
    found = verify(parse(text), opened, home).verdicts
    assert found[0].way == way, found
    if way is Fault.ANSWER and "give no answer" not in found[0].sentence:
        ours, theirs = found[0].sentence.split("; the claim says ")
        assert ours.removeprefix("The sources give ") != theirs.rstrip("."), "it says what differs"


@pytest.mark.parametrize("text", [
    b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"_type": 1e999}', b"null", b'{"subject": []}',
])  # fmt: skip
def test_hostile_files_are_invalid(home: Path, folder: Path, text: bytes) -> None:
    (folder / "claim.json").write_bytes(text)
    found = checked(folder / "claim.json", [home / "in"])
    assert list(ways(found)) == [Fault.INVALID], found


def test_a_claim_that_is_too_large(home: Path, folder: Path) -> None:
    with (folder / "claim.json").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(BenchError, match="larger than 16 MiB"):
        checked(folder / "claim.json", [home / "in"])
