"""Whose plan a page's days are for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench.decide.budget_choice import UNIT, budget
from bench.decide.query import Query
from bench.schema.errors import BenchError
from bench.vocabulary.sizes import Length, parse_length
from tests.deciding import JOB, answer, table
from tests.program import quick, told


def said(uri: str, tokens: float, **detail: str) -> dict[str, Any]:
    return {"uri": uri, "line": 3, "value": tokens, "unit": "tokens", "detail": detail}


def test_what_the_sources_agree_on() -> None:
    found = budget([said("a.md", 3e11), said("b.md", 3e11)], set(), Query())
    assert (found.tokens, found.origin, found.uri, found.others) == (
        300 * 10**9,
        "stated",
        "a.md",
        (),
    )


def test_sources_that_do_not_agree_decide_nothing() -> None:
    found = budget([said("a.md", 1e12), said("b.md", 3e11)], set(), Query())
    assert (found.tokens, found.origin) == (UNIT, "unit")
    assert [(one.uri, one.tokens) for one in found.others] == [
        ("b.md", 3 * 10**11),
        ("a.md", 10**12),
    ]


def test_a_plan_of_another_size_is_none_of_this_model() -> None:
    plans = [said("a.md", 1e12, size="13B"), said("b.md", 3e11, size="1B3")]
    found = budget(plans, {1.3}, Query())
    assert (found.tokens, found.uri) == (3 * 10**11, "b.md")
    assert budget(plans[:1], {1.3}, Query()).tokens == UNIT


def test_a_plan_of_one_document_is_none_of_models_of_others() -> None:
    plan = {**said("a.md", 3e11), "sizes": {1.3}}
    assert budget([plan], {1.3}, Query()).tokens == 3 * 10**11
    found = budget([plan], {1.3, 7.0}, Query())
    assert found.is_unit and [one.uri for one in found.others] == ["a.md"]
    both = [plan, {**said("b.md", 3e11), "sizes": {7.0}}]
    assert budget(both, {1.3, 7.0}, Query()).tokens == 3 * 10**11


def test_the_budgets_of_a_document_are_those_it_states_for_the_model() -> None:
    plans = [said("a.md", 3e11), said("b.md", 3e11, size="13B"), said("a.md", 1e12)]
    found = budget(plans, {1.3, 13.0}, Query(), ["a.md", "b.md", "c.md"])
    assert found.is_unit and len(found.others) == 2

    def of(uri: str, size: str | None) -> list[int | None]:
        return [one.tokens for one in found.of_document({"uri": uri, "size": size})]

    assert of("a.md", "1.3B") == of("a.md", None) == [3 * 10**11, 10**12]
    assert (of("b.md", "13B"), of("b.md", "1.3B"), of("c.md", "13B")) == ([3 * 10**11], [], [])


def test_a_plan_of_one_document_is_none_of_others_with_that_model() -> None:
    plan = {**said("a.md", 3e11), "sizes": {1.3}}
    assert budget([plan], {1.3}, Query(), ["a.md"]).tokens == 3 * 10**11
    found = budget([plan], {1.3}, Query(), ["a.md", "b.md"])
    assert found.is_unit and [one.uri for one in found.others] == ["a.md"]


def test_the_user_has_the_last_word() -> None:
    plans = [said("a.md", 1e12), said("b.md", 3e11)]
    assert budget(plans, set(), Query(tokens=5 * 10**9)).tokens == 5 * 10**9
    asked = budget(plans, set(), Query(steps=7))
    assert (asked.tokens, asked.steps, asked.tokens_per_step) == (None, 7, None)
    with pytest.raises(BenchError, match="two budgets"):
        budget(plans, set(), Query(tokens=5 * 10**9, steps=7))


def test_a_plan_of_nothing_is_none() -> None:
    nothing = {**said("a.md", 5_000), "unit": "steps", "detail": {"gbs": "0", "seq_len": "2048"}}
    for plan in (nothing, said("a.md", 0)):
        found = budget([plan], set(), Query())
        assert (found.is_unit, found.purpose) == (True, "per 100B tokens")


def test_the_steps_of_a_measurement_are_no_budget() -> None:
    short = {**said("a.md", 20), "unit": "steps", "detail": {"gbs": "64", "seq_len": "2048"}}
    assert budget([short], set(), Query()).is_unit
    assert budget([{**short, "value": 362_000}], set(), Query()).steps == 362_000


def test_a_budget_of_settings_is_for_its_model_alone() -> None:
    lengths = {1.3: Length(tokens=10**12), 13.0: Length(steps=7)}
    plans = [said("a.md", 3e11)]
    asked = Query(lengths=lengths)
    found = budget(plans, {1.3}, asked)
    assert (found.tokens, found.origin) == (10**12, "bench.toml")
    assert budget(plans, {13.0}, asked).steps == 7
    assert budget(plans, {1.3, 13.0}, asked).origin == "stated", "two models have no one budget"
    assert budget(plans, {7.0}, asked).origin == "stated"
    assert budget(plans, {1.3}, Query(tokens=5, lengths=lengths)).tokens == 5


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("380B", Length(tokens=380 * 10**9)),
        ("1.3e12 tokens", Length(tokens=1_300 * 10**9)),
        ("362_000 steps", Length(steps=362_000)),
        ("3 days", None),
        ("0", None),
    ],
)
def test_lengths_as_people_write_them(text: str, length: Length | None) -> None:
    assert parse_length(text) == length


def test_each_model_has_its_own_budget_and_explain_the_same(swept: Path) -> None:
    """Without --model: that of one document is not for the models of others."""
    of = ("--where", "uri not like '%004_tr%' and uri not like '%000_fug%'")
    done = quick(swept, "days", *of)
    assert done.out.startswith("Fastest per token: ") and "per 100B tokens" in done.out
    assert "Each model has its own budget: 1.3B 379.6B tokens (stated in 001:9" in done.out
    rows = json.loads(quick(swept, "days", *of, "--format", "json").out)
    found = {row["size"]: row["budget_tokens"] for row in rows if row["rank"]}
    assert found["1.3B"] == 362_000 * 1024 * 1024 and found["124M"] == found["181B"] == UNIT
    speeds = [row["tokens_per_s"] for row in rows if row["rank"]]
    assert speeds == sorted(speeds, reverse=True)
    for row in (next(row for row in rows if row["size"] == size) for size in ("1.3B", "124M")):
        place = Path(row["where"].rpartition(":")[0]).stem + ":" + row["where"].rpartition(":")[2]
        said = quick(swept, "explain", f"{place}.days", *of, "--format", "json").out
        tree = json.loads(said)["matches"][0]["tree"]
        assert tree["value"] == pytest.approx(row["days"])


def test_days_of_a_toy_beside_a_model_are_of_one_unit(tmp_path: Path) -> None:
    """Those of a toy alone are per 1B tokens, but one heading is for all rows."""
    head = "| GPUs | TP | PP | MBS | GBS | tokens/s/GPU |\n|" + "---|" * 6 + "\n"
    for name, size in (("a", "7B"), ("b", "0.005B")):
        text = f"# Training Llama {size} on A100\n\n{head}| 8 | 1 | 1 | 4 | 128 | 2000 |\n"
        (tmp_path / f"{name}.md").write_text(text)
    rows = json.loads(quick(tmp_path, "days", ".", "--format", "json").out)
    assert len(rows) == 2 and {row["budget_tokens"] for row in rows} == {UNIT}
    assert rows[0]["days"] == rows[1]["days"]


def test_budgets_are_listed_by_size(tmp_path: Path) -> None:
    head = "| GPUs | TP | PP | MBS | GBS | tokens/s/GPU |\n|" + "---|" * 6 + "\n"
    for size, tokens in (("13B", "1T"), ("7B", "300B"), ("175B", "")):
        plan = f"Llama {size} on A100, trained for {tokens} tokens.\n\n" if tokens else ""
        text = f"# Training Llama {size} on A100\n\n{plan}{head}| 8 | 1 | 1 | 4 | 128 | 100 |\n"
        (tmp_path / f"of_{size}.md").write_text(text)
    said = quick(tmp_path, "days", ".", "--format", "md").out
    assert "budget: 7B 300B tokens" in said and "13B 1T tokens" in said.split("7B 300B")[1], said


def test_goodput_as_a_percentage(five_jobs: str, folder: Path) -> None:
    share, percent = (answer(folder, "days", five_jobs, "--goodput", one) for one in ("0.9", "90%"))
    assert share == percent and share[0]["goodput"] == 0.9
    told(quick(folder, "days", five_jobs, "--goodput", "90"), 2, "use e.g. 0.9 or 90%")


def test_two_budgets_are_refused(five_jobs: str, folder: Path) -> None:
    for command in ("days", "best"):
        done = quick(folder, command, five_jobs, "--tokens", "1B", "--steps", "5")
        told(done, 2, "--tokens and --steps are two budgets")


def test_years_stand_in_the_days_of_their_column(folder: Path) -> None:
    table(folder / "a.md", [JOB.format(mbs=1, time="10.0", date="")])
    said = quick(folder, "days", "a.md", "--tokens", "9T").out
    [(days, low)] = re.findall(r"\n\| +1 \| +([\d,]+) \|.* ([\d,]+)-[\d,]+ \|", said)
    assert float(low.replace(",", "")) <= float(days.replace(",", "")) > 900


def test_a_ramp_up_longer_than_the_training_is_refused(five_jobs: str, folder: Path) -> None:
    asked = ("days", five_jobs, "--tokens", "1B", "--ramp-up", "32,32,1000000")
    why = "1,000,000 samples x 2048 tokens = 2.05B tokens, of 1B"
    told(quick(folder, *asked), 2, "the ramp-up is longer than the training", why)
