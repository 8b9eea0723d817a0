"""Rules that are equations prove themselves: what their samples find."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.audit.expression import FUNCTIONS, expression
from bench.audit.interval import Interval
from bench.audit.rule import Rule, Sample, rules_version
from bench.audit.run import audit, rules
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory

SAMPLES = [(rule, one) for rule in rules() for one in rule.samples if not one.before]


@pytest.mark.parametrize(("rule", "sample"), SAMPLES, ids=[rule.title for rule, _ in SAMPLES])
def test_a_rule_finds_what_its_sample_says(rule: Rule, sample: Sample, tmp_path: Path) -> None:
    head, *rows = sample.table
    lines = [head, " | ".join("---" for _ in head.split("|")), *rows]
    table = "\n".join(f"| {line} |" for line in lines)
    (tmp_path / "sample.md").write_text(f"# Sample {sample.text}\n\n{table}\n")
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path], tmp_path)
        found = audit(warehouse)
    said = [f"{one.message}: {one.evidence}" for one in found if rule.id in one.rules]
    assert any(sample.finds in text for text in said), said or [one.message for one in found]


def test_every_equation_has_a_sample(root: Path) -> None:
    files = [file.read_text("utf-8") for file in (root / "audit" / "rules").glob("*.toml")]
    equations = [text for text in files if "[[equation]]" in text]
    assert len(equations) > 8
    assert all("[[sample]]" in text for text in equations)


def test_a_file_is_called_as_its_rule(root: Path) -> None:
    stems = {file.stem for file in (root / "audit" / "rules").glob("r*.toml")}
    assert stems == {f"{one.id.lower()}_{one.slug.replace('-', '_')}" for one in rules()}


def test_equations_ask_what_printed_digits_allow() -> None:
    names = {**FUNCTIONS, "time": Interval(2.5, 4.0), "rate": Interval(9.5, 10.5)}
    assert expression("time * rate == 30").value(names)
    assert expression("time <= 3").value(names) and expression("time >= 3").value(names)
    assert not expression("time * rate == 50").value(names)
    assert expression("2 <= time <= 3").value(names) and expression("9 < 9.2 <= rate").value(names)
    assert not expression("2 <= time <= 2.4").value(names)
    with pytest.raises(NameError):
        expression("open").value(names)


def test_rules_run_after_those_that_they_need() -> None:
    order = [rule.id for rule in rules()]
    for place, rule in enumerate(rules()):
        assert all(name in order[:place] for name in rule.needs), rule.id
    assert 0 < rules_version() < 2**31
