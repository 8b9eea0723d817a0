"""What nobody measured is a plan: estimates, projections and suppositions, by the words above."""

import pytest

from bench.ingest.documents.tables import read_markdown
from bench.vocabulary.headings import column_of

ROWS = "\n\n| GPUs | Tokens/s | Step time (s) |\n|--|--|--|\n| 8 | 20000 | 1.25 |\n"


def kind_below(text: str) -> object:
    rows, _ = read_markdown(f"# Training a 7B model\n\n{text}{ROWS}", "s")
    [run] = rows.by_table["runs"]
    return run["kind"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("## Estimated performance", "planned"),
        ("## Theoretical throughput", "planned"),
        ("## 性能预估", "planned"),
        ("## Proposed configurations", "planned"),
        ("Suppose:", "planned"),
        ("Theoretical throughput of larger jobs:", "planned"),
        ("## Measured, not estimated", "measured"),
        ("## Theoretical vs achieved performance", "measured"),
        ("## Throughput and time estimates", "measured"),
        ("## Time-to-token estimates", "measured"),
        ("## Proposed method", "measured"),
        ("The MFU is estimated as in PaLM. Throughput:", "measured"),
        ("We assume a peak of 989 TFLOPs.", "measured"),
    ],
)
def test_what_is_estimated_was_not_measured(text: str, kind: str) -> None:
    assert kind_below(text) == kind


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("Est. tokens/s", None),
        ("Memory (theoretical, GB)", None),
        ("Step time (est.)", None),
        ("Estimated MFU", "mfu"),  # as nanoGPT calls the one that it measures
        ("Best tokens/s", "tokens_per_s"),
    ],
)
def test_a_column_of_estimates_is_no_result(heading: str, name: str | None) -> None:
    column = column_of(heading)
    assert (column and column.name) == name
