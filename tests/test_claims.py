"""Claims: made, asked for, checked by a stranger."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from bench.claims.checked import checked
from bench.claims.make import claim
from bench.claims.question import parse_question
from bench.claims.statement import json_schema
from bench.claims.verdict import MEANINGS, Fault
from bench.decide.query import Query
from bench.project.read import read
from bench.schema.errors import BenchError
from bench.schema.warehouse import Warehouse
from tests.claiming import (
    DOCUMENT,
    FASTEST,
    QUESTION,
    Json,
    claimed,
    edited,
    made,
    replaced,
    verdicts,
    ways,
)
from tests.making import table
from tests.program import quick


@pytest.fixture(scope="module")
def home(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return claimed(tmp_path_factory.mktemp("claimed"), data)


@pytest.fixture
def place(home: Path, folder: Path) -> Path:
    """A copy of it, to be tampered with."""
    shutil.copytree(home, folder, dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def opened(home: Path) -> Iterator[Warehouse]:
    """The sources as whoever checks reads them, once for all claims about them."""
    warehouse, _, _ = read([home / "in"], home, given=())
    with warehouse:
        yield warehouse


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
    assert list(verdicts(folder)) == [Fault.ANSWER]


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


def test_exit_codes_are_apart_and_in_the_docs(root: Path) -> None:
    assert set(MEANINGS) == set(Fault)
    codes = [way.exit_code for way in Fault]
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
    replaced(place, FASTEST, FASTEST.replace("23", "21"))
    done = quick(place, "verify", "new.json", "in")
    assert done.code == Fault.CHANGED_ROW.exit_code and "FALSE (changed-row)" in done.out
    page = place / "README.md"
    begin = "<!-- bench:begin report=claim claim=new.json from=in -->"
    page.write_text(f"{begin}\n<!-- bench:end -->\n")
    assert quick(place, "report", "--update", "README.md").code == 0
    assert "**false** by its sources" in page.read_text()
    assert "- **changed-row**" in page.read_text()
    assert quick(place, "report", "--check", "README.md").code == 0
    replaced(place, "|    21 |", "|    23 |")
    assert quick(place, "report", "--check", "README.md").code == 1, "the claim holds again"
