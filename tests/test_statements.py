"""What lines beside a table say of it as a whole: boundaries, plans, legends."""

import pytest

from bench.ingest.documents.context_lines import configuration
from bench.ingest.documents.statements import legend_in, statements_in


@pytest.mark.parametrize(
    ("text", "boundary"),
    [
        ("From here on a new container is used: do not compare with the numbers above.", True),
        ("The rows below were measured with PyTorch 2.1 and are not comparable to those above.",
         True),
        ("Numbers below cannot be compared with the previous ones: maintenance on 2024-03-01.",
         True),
        ("After the upgrade of the driver results are not directly comparable to earlier results.",
         True),
        ("We switched containers; don't compare these to the earlier tables.", True),
        ("TFLOPs from here on follow the formula of PR 251.", True),
        ("Our results are not comparable to previous work.", False),
        ("Throughput is not compared across devices.", False),
        ("The table below compares results of two containers.", False),
        ("From here on results are in seconds.", False),
    ],
)  # fmt: skip
def test_boundaries(text: str, boundary: bool) -> None:
    found = list(statements_in(text, 1, configuration(text, 1)))
    assert ("boundary" in [one.kind for one in found]) is boundary


def test_statements() -> None:
    def of(text: str) -> list[tuple[str, float | None]]:
        return [(s.kind, s.value) for s in statements_in(text, 1, configuration(text, 1))]

    assert of("  - 0.5 Sec/it ==> 2.09 days") == [("days", 2.09)]
    assert of("* DP=4, PP=12, MBS=4: 123 secs/it | 130 TFLOPS") == [("summary", None)]
    assert of("- MBS = micro batch size") == [("notation", None)]
    assert of("trained for 300B tokens") == [("plan", 3e11)]
    assert of("Token budget: 1.5T tokens") == [("plan", 1.5e12)]
    assert of("days to train 300B tokens") == [("plan", 3e11)]
    assert of("GPT-3 was trained for 300B tokens") == []
    assert of("the training corpus has 300B tokens") == []
    assert of("the plan is 300B tokens, then 1T tokens") == []
    assert of("nothing to see") == []


def test_legends() -> None:
    legend = legend_in("- ^^ Stuck after the first epoch", 7)
    assert legend
    assert (legend.subject, legend.detail["text"]) == ("^^", "Stuck after the first epoch")
    starred = legend_in("*Mem = max memory used by the first (last) nodes", 1)
    assert starred
    assert starred.subject == "*"
    assert legend_in("words", 1) is None
