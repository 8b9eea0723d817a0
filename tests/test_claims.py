"""Claims: made, checked by a stranger, and tampered with in every way that has a name."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bench.claims.checked import Checked, checked
from bench.claims.make import claim
from bench.claims.question import parse_question
from bench.claims.signing import check, sign, signature_of
from bench.claims.statement import LARGEST, as_text, json_schema, parse
from bench.claims.verdict import MEANINGS, Way
from bench.claims.verify import verify
from bench.decide.query import Query
from bench.project.read import read
from bench.schema.errors import BenchError
from bench.schema.warehouse import Warehouse
from tests.making import table
from tests.program import quick

DOCUMENT, QUESTION = "sweep.md", "best tokens_per_s_per_device for 1.3B on V100"
FASTEST = "|      2 |   1 |   1 |   8 |   1 |    23 |   44.4 | 27GB                  |"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def home(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two sources, a key, and a signed claim about them."""
    folder = tmp_path_factory.mktemp("claimed")
    (folder / ".git").mkdir()
    (folder / "in").mkdir()
    shutil.copy(data / "tables" / "004_tr3m-1B3.md", folder / "in" / DOCUMENT)
    (folder / "in" / "other.md").write_text(table("8 | 2B | 8 | 1 | 1 | 4 | 512 | 9.5 | 90.1"))
    _key(folder / "key")
    public = (folder / "key.pub").read_text()
    (folder / "allowed").write_text(f'a@example.org namespaces="bench-claim" {public}')
    text = made(folder, QUESTION)
    (folder / "claim.json").write_text(text)
    (folder / "claim.json.sig").write_bytes(sign(text.encode(), folder / "key"))
    return folder


@pytest.fixture
def place(home: Path, folder: Path) -> Path:
    """A copy of it, to be tampered with."""
    shutil.copytree(home, folder, dirs_exist_ok=True)
    return folder


def made(folder: Path, question: str, paths: tuple[str, ...] = ("in",)) -> str:
    """A claim about files of a folder."""
    warehouse, _, _ = read([folder / one for one in paths], folder)
    with warehouse:
        return as_text(claim(warehouse, folder, parse_question(question), Query()))


@pytest.fixture(scope="module")
def opened(home: Path) -> Iterator[Warehouse]:
    """The sources as whoever checks reads them, once for all claims about them."""
    warehouse, _, _ = read([home / "in"], home, given=())
    with warehouse:
        yield warehouse


def _key(file: Path) -> None:
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


def predicate(**change: object) -> Callable[[Json], object]:
    return lambda made: made["predicate"].update(change)


def part(name: str, **change: object) -> Callable[[Json], object]:
    return lambda made: made["predicate"][name].update(change)


def test_a_claim_holds_for_whoever_has_the_sources(home: Path, folder: Path) -> None:
    assert verdicts(home, allowed=True) == {}
    # Elsewhere, under other names and without any setting of the claimant.
    shutil.copytree(home / "in", folder / "mirror")
    (folder / "mirror" / DOCUMENT).rename(folder / "mirror" / "renamed.md")
    (folder / "facts.toml").write_text("not even TOML")
    found = checked(home / "claim.json", [folder / "mirror"], home / "allowed", root=folder)
    assert ways(found) == {}
    assert found.claim == f"{QUESTION}: 5,699 tokens/s of a device"
    assert found.outcome.notes[0] == "signed by a@example.org"


def test_the_claim_says_what_it_rests_on(home: Path) -> None:
    made: Json = json.loads((home / "claim.json").read_text())
    assert made["_type"] == "https://in-toto.io/Statement/v1"
    assert [one["name"] for one in made["subject"]] == ["in/other.md", f"in/{DOCUMENT}"]
    said = made["predicate"]
    assert [(row["line"], row["text"]) for row in said["rows"]] == [(44, FASTEST)]
    assert said["result"]["value"] == pytest.approx(512 * 2048 / 23 / 8, rel=1e-11)
    assert {"metrics/tokens_per_s", "metrics/tokens_per_s_per_device"} <= set(said["formulas"])
    time = next(one for one in _nodes(said["derivation"]) if one["name"] == "step_time_s")
    assert time["place"] == {"source": made["subject"][1]["digest"]["sha256"], "line": 44,
                             "column": 39, "text": "23"}  # fmt: skip


def _nodes(node: Json) -> list[Json]:
    return [node, *(one for child in node["inputs"] for one in _nodes(child))]


def test_the_published_schema_is_of_claims(home: Path, root: Path) -> None:
    schema = (root / "docs" / "claim.schema.json").read_text("utf-8")
    assert schema == json_schema(), "make generate"
    jsonschema.validate(json.loads((home / "claim.json").read_text()), json.loads(schema))


def _digit(place: Path) -> None:
    replaced(place, FASTEST, FASTEST.replace("23", "21"))


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


def _row_of_another(made: Json) -> None:
    """A second row that says the same, quoted rightly, which the answer does not rest on."""
    said = made["predicate"]
    said["rows"].append(
        said["rows"][0] | {"line": 45, "text": "|      2 |   1 |   2 |   4 |   1 |    23 |   44.4 |"
                           " 21GB                  |"}
    )  # fmt: skip


TAMPERED: Mapping[str, tuple[Callable[[Json], object], Way]] = {
    "the value": (part("result", value=5999.0), Way.ANSWER),
    "the unit": (part("result", unit="tokens/s"), Way.ANSWER),
    "the number of rows": (part("result", runs=24), Way.ANSWER),
    "the model that is asked for": (part("question", model="13B"), Way.ANSWER),
    "a condition that nothing fits": (part("question", where="tp = 64"), Way.ANSWER),
    "a condition in SQL": (
        part("question", where="tp = 1 or run_id in (select 'x')"), Way.ANSWER
    ),
    "a slower row as the best": (_second, Way.BETTER_ROW),
    "the digest of a formula": (_zeros, Way.FORMULA),
    "a formula that nobody has": (_other_formula, Way.FORMULA),
    "a formula left out": (_less_formulas, Way.FORMULA),
    "another version with another answer": (_other_version, Way.VERSION),
    "the text of a line": (_line_text, Way.ROWS),
    "another row": (_row_of_another, Way.ROWS),
    "a number within the derivation": (_leaf, Way.DERIVATION),
    "a subject left out": (lambda made: made["subject"].pop(0), Way.ADDED_SOURCE),
    "the digest of a subject": (
        lambda made: made["subject"][0]["digest"].update(sha256="0" * 64), Way.CHANGED_SOURCE
    ),
    "another predicate": (lambda made: made.update(predicateType="urn:x"), Way.INVALID),
    "an unknown part": (predicate(note="x"), Way.INVALID),
    "a number as text": (part("result", value="5699"), Way.INVALID),
    "a row of no subject": (
        lambda made: made["predicate"]["rows"][0].update(source="0" * 64), Way.INVALID
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERED)
def test_a_tampered_claim_is_named(home: Path, opened: Warehouse, what: str) -> None:
    change, way = TAMPERED[what]
    text = edited(home, change)
    if way is Way.INVALID:
        with pytest.raises(BenchError, match="not a claim"):
            parse(text)
        return
    found = verify(parse(text), opened, home).verdicts
    assert found[0].way == way, found


def _no_source(place: Path) -> None:
    for file in (place / "in").iterdir():
        file.unlink()


def _faster_source(place: Path) -> None:
    text = (place / "in" / DOCUMENT).read_text().replace(FASTEST, FASTEST.replace("23", "20"))
    (place / "in" / "newer.md").write_text(text.replace("44.4", "51.1"))


SOURCES: Mapping[str, tuple[Callable[[Path], object], tuple[Way, ...]]] = {
    "a changed digit": (_digit, (Way.CHANGED_ROW, Way.CHANGED_SOURCE)),
    "a removed row": (
        lambda place: replaced(place, f"{FASTEST}\n", ""), (Way.REMOVED_ROW, Way.CHANGED_SOURCE)
    ),
    "a removed source": (lambda place: (place / "in" / DOCUMENT).unlink(), (Way.MISSING_SOURCE,)),
    "another source removed": (
        lambda place: (place / "in" / "other.md").unlink(), (Way.MISSING_SOURCE,)
    ),
    "no source at all": (
        _no_source, (Way.MISSING_SOURCE,)
    ),
    "a faster row in the same source": (
        lambda place: replaced(
            place, FASTEST, FASTEST + "\n" + FASTEST.replace("23", "20").replace("44.4", "51.1")
        ),
        (Way.BETTER_ROW, Way.CHANGED_SOURCE),
    ),
    "a faster row in another source": (_faster_source, (Way.BETTER_ROW, Way.ADDED_SOURCE)),
    "words beside": (
        lambda place: replaced(place, "# ", "# Old: "), (Way.CHANGED_SOURCE,)
    ),
    "a source added": (
        lambda place: (place / "in" / "more.md").write_text(
            table("4 | 2B | 4 | 1 | 1 | 4 | 512 | 19.5 | 88.1")
        ),
        (Way.ADDED_SOURCE,),
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


def signed(place: Path, *, allowed: bool = True) -> Way | None:
    """What is wrong with the signature alone."""
    file = place / "claim.json"
    signers = place / "allowed" if allowed else None
    wrong, _ = check(file.read_bytes(), signature_of(file), signers)
    return wrong.way if wrong else None


def test_signatures(place: Path) -> None:
    assert signed(place) is None
    text = (place / "claim.json").read_text()
    (place / "claim.json").write_text(text.replace("5698.7", "5698.8"))
    assert list(verdicts(place, allowed=True)) == [Way.SIGNATURE, Way.ANSWER]
    assert signed(place, allowed=False) is Way.SIGNATURE, "whoever signed, it was something else"
    (place / "claim.json").write_text(text)
    (place / "key").unlink()
    (place / "key.pub").unlink()
    _key(place / "key")
    signature_of(place / "claim.json").write_bytes(sign(text.encode(), place / "key"))
    assert signed(place) is Way.SIGNER
    assert signed(place, allowed=False) is None
    signature_of(place / "claim.json").write_text("no signature")
    assert signed(place) is Way.SIGNATURE
    signature_of(place / "claim.json").unlink()
    assert signed(place) is Way.UNSIGNED
    assert signed(place, allowed=False) is None


def test_a_doubted_row_is_named(folder: Path, data: Path) -> None:
    """A claim of a value that the audit doubts; that the claimant closes a finding is no matter."""
    (folder / "in").mkdir()
    shutil.copy(data / "tables" / "001_1.3b_benchmarking.md", folder / "in")
    (folder / "claim.json").write_text(made(folder, "value tflops for 1.3B where line = 45"))
    found = verdicts(folder)
    assert list(found) == [Way.DOUBTED] and "R6" in found["doubted"], found


def test_what_people_state_travels_with_the_claim(folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "x.md").write_text(table("2 | 1.3B | 8 | 1 | 1 | 1 | 512 | 23 | 44.4"))
    (folder / "facts.toml").write_text(
        '[[fact]]\nmatch = { file = "x.md" }\nfield = "seq_len"\nvalue = 2048\n'
        'reason = "the paper says so"\nauthor = "A. Author"\ndate = 2026-02-16\n'
    )
    (folder / "claim.json").write_text(made(folder, "best tokens_per_s for 1.3B"))
    (folder / "facts.toml").unlink()
    found = checked(folder / "claim.json", [folder / "in"], root=folder)
    assert ways(found) == {}
    told = "rests on 1 values that no source states, but the claim by A. Author"
    assert told in found.outcome.notes
    text = edited(folder, lambda made: made["predicate"]["stated"][0].update(value="4096"))
    (folder / "claim.json").write_bytes(text)
    assert list(verdicts(folder)) == [Way.ANSWER]


@pytest.mark.parametrize("question", [
    "best tokens_per_s", "fastest mfu for 1.3B", "best speed for 1.3B", "days mfu for 1.3B",
    "value nothing for 1.3B", "", "best mfu for 1.3B on " + "x" * 300,
])  # fmt: skip
def test_another_grammar_is_refused(question: str) -> None:
    with pytest.raises(BenchError):
        parse_question(question)


def test_questions_and_their_answers(home: Path, opened: Warehouse) -> None:
    for question, value in (
        ("days for 1.3B on V100", 1e11 / (512 * 2048 / 23) / 86400),
        ("value tflops for 1.3B where line = 44", 44.4),
        ("best mem for 1.3B on V100-32GB where tp = 1 and pp = 1 and recompute = 'none'", 27.0),
    ):
        said = claim(opened, home, parse_question(question), Query()).predicate
        assert said.result.value == pytest.approx(value, rel=1e-9), question
        assert str(said.question).startswith(question)
    places = "best mfu for all where uri = 'x'"
    for question in ("value tflops for 1.3B", places, "best mfu for 1.3B on GV100"):
        with pytest.raises(BenchError):
            claim(opened, home, parse_question(question), Query())


@pytest.mark.parametrize("text", [
    b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"_type": 1e999}', b"null", b'{"subject": []}',
])  # fmt: skip
def test_hostile_files_are_invalid(home: Path, folder: Path, text: bytes) -> None:
    (folder / "claim.json").write_bytes(text)
    found = checked(folder / "claim.json", [home / "in"])
    assert list(ways(found)) == [Way.INVALID], found


def test_a_claim_that_is_too_large(home: Path, folder: Path) -> None:
    with (folder / "claim.json").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(BenchError, match="too large"):
        checked(folder / "claim.json", [home / "in"])


def test_exit_codes_are_apart_and_in_the_docs(root: Path) -> None:
    assert set(MEANINGS) == set(Way)
    codes = [way.exit_code for way in Way]
    assert len(set(codes)) == len(codes) and min(codes) >= 10
    told = (root / "docs" / "claims.md").read_text("utf-8")
    for way, meaning in MEANINGS.items():
        assert f"| {way.exit_code} | `{way}` | {meaning} |" in told


def test_the_commands(place: Path) -> None:
    done = quick(place, "claim", QUESTION, "in", "-o", "new.json", "--sign", "key",
                 "--badge", "new.svg")  # fmt: skip
    assert done.code == 0, done.text
    assert (place / "new.json").read_text() == (place / "claim.json").read_text()
    assert "[![" in done.err and "](new.svg)](new.json)" in done.err
    assert (place / "new.svg").read_text().startswith("<svg ")
    done = quick(
        place, "verify", "new.json", "in", "--allowed-signers", "allowed", "--format", "json"
    )
    assert done.code == 0 and json.loads(done.out)["holds"] is True, done.text
    _digit(place)
    done = quick(place, "verify", "new.json", "in")
    assert done.code == Way.CHANGED_ROW.exit_code and "FALSE (changed-row)" in done.out
    page = place / "README.md"
    begin = "<!-- bench:begin report=claim claim=new.json from=in -->"
    page.write_text(f"{begin}\n<!-- bench:end -->\n")
    assert quick(place, "report", "--update", "README.md").code == 0
    assert "**false** by its sources" in page.read_text()
    assert "- **changed-row**" in page.read_text()
    assert quick(place, "report", "--check", "README.md").code == 0
    replaced(place, "|    21 |", "|    23 |")
    assert quick(place, "report", "--check", "README.md").code == 1, "the claim holds again"
