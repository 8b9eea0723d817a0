"""facts.toml: findings closed, boundaries drawn, columns stated where a source is silent."""

from __future__ import annotations

import json
import re
from pathlib import Path
from time import process_time
from typing import Any

import jsonschema
import pytest

from bench.project.facts_file import FIELDS, json_schema, read_facts
from tests.facts_files import SIGNED, fact
from tests.program import Outcome, quick, told


@pytest.fixture
def place(root: Path, folder: Path) -> Path:
    """A folder with the document whose l.44 and l.45 are the same row."""
    for name in ("001_1.3b_benchmarking.md", "002_chronicles-prequel.md"):
        (folder / name).write_bytes((root / "data" / "tables" / name).read_bytes())
    return folder


def audited(place: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(quick(place, "audit", *words, "--format", "json").out)
    return found


def test_a_finding_is_closed_and_stays_listed(place: Path) -> None:
    (place / "facts.toml").write_text(fact('file = "001", line = 44, rule = "R6"', "finding",
                                           '"exception"'))  # fmt: skip
    closed = [one for one in audited(place, ".") if one["closed"]]
    assert [(one["rule"], one["line"], one["closed"]) for one in closed] == [
        ("R6", 44, "known exception: measured twice (A. Author, 2026-02-16)")
    ]
    sarif = json.loads(quick(place, "audit", "001_1.3b_benchmarking.md", "--format", "sarif").out)
    kept = [one for one in sarif["runs"][0]["results"] if "suppressions" in one]
    assert len(kept) == 1 and "measured twice" in kept[0]["suppressions"][0]["justification"]


def test_a_closed_error_does_not_fail_and_does_not_leave_out(place: Path) -> None:
    (place / "002_chronicles-prequel.md").unlink()
    before = quick(place, "audit", ".")
    assert before.code == 1
    entries = [fact(f'file = "001*", line = {line}', "finding", '"corrected"') for line in
               (29, 34, 44)]  # fmt: skip
    (place / "facts.toml").write_text("\n".join(entries))
    assert quick(place, "audit", ".").code == 0
    assert quick(place, "ingest", "-q", ".").code == 0
    query = "SELECT count(*) AS n FROM left_out WHERE reason = 'finding'"
    assert json.loads(quick(place, "sql", query, "--format", "json").out) == [{"n": 0}]
    (place / "facts.toml").unlink()
    assert quick(place, "ingest", "-q", ".").code == 0, "known, yet audited without the facts"
    [row] = json.loads(quick(place, "sql", query, "--format", "json").out)
    assert row["n"] == 2


def test_a_device_that_is_stated_stands_where_the_source_is_silent(place: Path) -> None:
    (place / "facts.toml").write_text(
        fact('file = "001"', "device", '"A64FX"') + fact('file = "002"', "device", '"V100"')
        + fact('file = "001"', "dtype", '"fp32"') + fact('file = "001", line = 28', "heads", "64")
    )  # fmt: skip
    assert quick(place, "ingest", "-q", ".").code == 0
    query = """SELECT uri[:3] AS doc, string_agg(DISTINCT device, ' ') AS device,
               string_agg(DISTINCT dtype, ' ') AS dtype, min(heads) AS heads
               FROM configurations GROUP BY 1 ORDER BY 1"""
    rows = json.loads(quick(place, "sql", query, "--format", "json").out)
    assert rows[0] == {"doc": "001", "device": "A64FX", "dtype": "fp32", "heads": 32}
    assert rows[1]["device"] == "A100-80GB", "what is stated is never overwritten"
    text = quick(place, "report", "--model", "1.3B").out
    assert "A64FX" in text and "001 (device not stated)" not in text
    shown = quick(place, "explain", "001:28").out
    assert "tokens/s of a process" in shown


def test_matches_of_no_source_are_reported_together(place: Path) -> None:
    names = ("001", "001*", "*.md", "001_1.3b_benchmarking.md", "none/*.log", "b", "c", "d", "e")
    stated = (fact(f'file = "{name}"', "nodes", "4") for name in names)
    (place / "facts.toml").write_text("\n".join(stated))
    done = quick(place, "ingest", "001_1.3b_benchmarking.md")
    [warning] = [line for line in done.err.splitlines() if "no source of this" in line]
    assert re.search(
        r'facts\.toml: no source of this warehouse is named "none/\*\.log" \(line \d+\) or '
        r'"b" \(line \d+\) or "c" \(line \d+\), nor 2 more$', warning
    ), warning  # fmt: skip


def test_what_a_user_states_is_told_as_such(folder: Path) -> None:
    (folder / "README.md").write_text(
        "# Sweep\n\nSequence length 1024\n\n| Nodes | TP | PP | DP | MBS | Sec/it |\n"
        "|--|--|--|--|--|--|\n| 4 | 4 | 1 | 1 | 1 | 12.5 |\n"
    )
    assert "not known" in quick(folder, "explain", "README:7.tokens_per_s", "README.md").out
    (folder / "facts.toml").write_text(fact('file = "README.md"', "gbs", "512"))
    done = quick(folder, "explain", "README:7.tokens_per_s", "README.md")
    assert "tokens_per_s = 41,943 tokens/s" in done.out
    told_by = "facts.toml:1 'gbs = 512'  [stated by a user: measured twice (A. Author, 2026-02-16)]"
    assert told_by in done.out


def test_boundaries_of_lines_and_of_facts(place: Path) -> None:
    (place / "facts.toml").write_text(
        fact(
            'file = "001"',
            "boundary",
            '"new container"',
            SIGNED.replace("2026-02-16", "2026-02-15"),
        )
        + fact('file = "002", line = 300', "boundary", '"NUMA was mended"')
    )
    assert quick(place, "ingest", "-q", ".").code == 0
    query = """SELECT DISTINCT uri[:3] AS doc, epoch, boundary FROM epochs JOIN runs USING (run_id)
               ORDER BY ALL"""
    rows = json.loads(quick(place, "sql", query, "--format", "json").out)
    assert {(row["doc"], row["epoch"]) for row in rows} == {
        ("001", "before 2026-02-15"), ("001", "since 2026-02-15"),
        ("002", "before l.233"), ("002", "since l.233"), ("002", "since l.300"),
    }  # fmt: skip
    assert {row["boundary"] for row in rows} >= {"new container", "NUMA was mended"}
    page = quick(place, "report", "--model", "181B").out
    assert "| Regime " in page and "since l.300" in page
    assert (
        'Rows before and since a boundary are not comparable: 002 since l.233: "TFLOPs from' in page
    )
    runs = quick(place, "runs", "--model", "181B", "--format", "json").out
    assert {row["regime"] for row in json.loads(runs)} == {"since l.233", "since l.300"}


def wrong(place: Path, text: str) -> Outcome:
    (place / "facts.toml").write_text(text)
    return quick(place, "audit", ".")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (fact("fil = 'x'", "finding", '"exception"'), ("match.fil", "did you mean 'file'", ":2")),
        (fact("line = 3", "devise", '"A100"'), ("did you mean 'device'",)),
        (fact("line = 3", "finding", '"wontfix"'), ("exception, corrected",)),
        (fact("line = 3", "device", '"A100"', "reason = 'x'\n"), ("lacks 'author'",)),
        (fact("rule = 'R1'", "device", '"A100"'), ("only findings can match a rule",)),
        (fact("line = 3", "heads", '"many"'), ("heads is a whole number",)),
        (fact("line = 0", "device", '"A100"'), ("line: it must be at least 1",)),
        ("[[fact]\n", ("not valid TOML", "match = ")),
        ("facts = 3\n", ("unknown key 'facts'", "did you mean 'fact'")),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    place: Path, text: str, words: tuple[str, ...]
) -> None:
    told(wrong(place, text), 2, "facts.toml", *words)


def test_facts_beside_bench_toml_or_named_in_it(place: Path) -> None:
    text = fact('file = "001", line = 44, rule = "R6"', "finding", '"exception"')
    (place / "tables").mkdir()
    for name in ("001_1.3b_benchmarking.md", "002_chronicles-prequel.md"):
        (place / name).rename(place / "tables" / name)
    (place / "bench.toml").write_text("")
    (place / "facts.toml").write_text(text)
    assert [one["line"] for one in audited(place, "tables") if one["closed"]] == [44]
    (place / "facts.toml").rename(place / "known.toml")
    assert not [one for one in audited(place, "tables") if one["closed"]]
    (place / "bench.toml").write_text('facts = "known.toml"\n')
    assert [one["line"] for one in audited(place, "tables") if one["closed"]] == [44]


def test_the_schema_that_is_published(root: Path, tmp_path: Path) -> None:
    text = (root / "docs" / "facts.schema.json").read_text("utf-8")
    assert text == json_schema(), "make generate"
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    fields = schema["$defs"]["Entry"]["properties"]["field"]["enum"]
    assert tuple(fields) == FIELDS
    manual = (root / "docs" / "audit.md").read_text("utf-8")
    [example] = re.findall(r"```toml\n(.*?)```", manual, re.S)
    (tmp_path / "facts.toml").write_text(example)
    assert {one.field for one in read_facts(tmp_path / "facts.toml")} >= {"finding", "boundary"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (fact("line = 3", "device", '"A100"') + fact("fil = 'x'", "finding", '"exception"'), 10),
        (fact("line = 3", "devise", '"A100"'), 3),
        (fact("line = 3", "finding", '"wontfix"'), 4),
        (fact("line = 3", "heads", '"many"'), 4),
        (fact("line = 0", "device", '"A100"'), 2),
        (fact("line = 3", "device", '"A100"', "reason = 'x'\nauthor = 3\ndate = 2026-01-01"), 6),
        (fact("line = 3", "device", '"A100"', "reason = 'date = 3'\nauthor = 'y'\ndate = 7"), 7),
        (fact("line = 3", "device", '"A100"', "reason = 'x'\n"), 1),
        ("[[fact]]\nfield = 'device'\n[fact.match]\nrule = 'X'\n", 4),
    ],
)
def test_an_error_names_the_line_of_its_key(place: Path, text: str, line: int) -> None:
    told(wrong(place, text), 2, f"facts.toml:{line}\n")


def test_what_closes_nothing_is_told(place: Path) -> None:
    (place / "facts.toml").write_text(
        fact('file = "001", line = 44, rule = "R6"', "finding", '"exception"')
        + fact('file = "001", line = 44, rule = "R99"', "finding", '"exception"')
        + fact('file = "001", line = 3', "finding", '"exception"')
        + fact('file = "003"', "finding", '"exception"')
        + fact('model = "1.3B"', "finding", '"exception"')
    )
    document = place / "002_chronicles-prequel.md"
    with document.open("a") as file:
        file.write("\n<!-- bench audit: ok R6 l.3: no such -->\n<!-- bench audit: ok R7 -->\n")
    assert quick(place, "ingest", "-q", ".").code == 0
    assert "no source is called 003" in quick(place, "audit", "--format", "md").out
    idle = [one for one in audited(place, ".") if one["rule"] == "R0"]
    told_ = {(one["file"], one["line"]): one["evidence"] for one in idle}
    last = len(document.read_text().splitlines())
    assert {one["severity"] for one in idle} == {"warning"}
    assert told_ == {
        ("facts.toml", 9): "there is no rule R99; did you mean R9?",
        ("facts.toml", 17): "there is no finding in 001 on line 3",
        ("facts.toml", 33): "findings have no model: match their file, line or rule",
        (document.name, last - 1): "there is no finding of R6 on line 3",
        (
            document.name,
            last,
        ): "it gives no reason: `<!-- bench audit: ok R6 line 44: measured twice -->`",
    }


def test_many_facts_are_read_soon(tmp_path: Path) -> None:
    """Each had all lines of the file cut anew: 16,000 of them took 83 s."""
    file, begun = tmp_path / "facts.toml", process_time()
    file.write_text(fact('file = "a.md"', "device", '"A64FX"') * 8_000)
    assert len(read_facts(file)) == 8_000
    assert process_time() - begun < 12
