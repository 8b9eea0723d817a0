"""Rules of the audit that ask what changed: each finds what its sample says, when it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.audit.rule import Rule, Sample
from bench.audit.run import audit, examined, rules
from bench.project.read_history import read_history
from bench.schema.opening import open_read
from tests.histories import Repository, document

SAMPLES = [(rule, one) for rule in rules() for one in rule.samples if one.before]


@pytest.mark.parametrize(("rule", "sample"), SAMPLES, ids=[rule.title for rule, _ in SAMPLES])
def test_a_rule_of_time_finds_what_its_sample_says(
    rule: Rule, sample: Sample, tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "r")
    for head, *rows in (*sample.before, sample.table):
        repository.commit({"sample.md": document(rows, head)})
    read_history(repository.folder, tmp_path / "bench.duckdb")
    with open_read(tmp_path / "bench.duckdb") as warehouse:
        found, _ = examined(warehouse, request="history")
        assert not audit(warehouse), "nothing of it shows unless it is asked for"
    assert [one.rule for one in found] == [rule.id]
    assert sample.finds in found[0].evidence


def test_every_rule_of_time_has_a_sample() -> None:
    asked = {rule.id for rule in rules() if rule.request == "history"}
    assert asked == {rule.id for rule, _ in SAMPLES} and len(asked) == 4
