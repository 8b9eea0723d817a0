"""Units and scopes that a heading names: they are those of its cells, or of another quantity."""

import pytest

from bench.ingest.documents.results import BareNumbers, results
from bench.vocabulary.cells import parse_cell
from bench.vocabulary.headings import column_of


def test_a_unit_of_memory_without_brackets() -> None:
    column = column_of("Peak GPU MB")
    assert column is not None and (column.name, column.unit) == ("mem", "MB")


@pytest.mark.parametrize(
    ("heading", "name", "unit"),
    [
        ("Time (ms)", "step_time", "ms"),
        ("Iteration time (s)", "step_time", "s"),
        ("Elapsed time per iteration (ms)", "step_time", "ms"),
        ("Memory(GiB)", "mem", "GiB"),
        ("Peak memory (GB)", "mem", "GB"),
        ("Mem [MiB]", "mem", "MiB"),
        ("MFU (%)", "mfu", "%"),
        ("Params (B)", "size", "B"),
        ("Number of parameters (billion)", "size", "B"),
        ("SeqLen (T)", "seq_len", None),
        ("Throughput (tok/s/GPU)", "tokens_per_s_per_device", "tokens/s"),
    ],
)
def test_a_unit_in_the_heading(heading: str, name: str, unit: str | None) -> None:
    column = column_of(heading)
    assert column
    assert (column.name, column.unit) == (name, unit)


@pytest.mark.parametrize(
    ("heading", "cell", "metric", "value"),
    [
        ("Power (W)", "540", "power_w", 540.0),
        ("Avg power", "0.54 kW", "power_w", 540.0),
        ("Energy", "3.6 MJ", "energy_kwh", 1.0),
        ("Cost ($)", "$1,250", "price_usd", 1250.0),
        ("Training cost", "49.7 hours ($5482)", "price_usd", 5482.0),
        ("Goodput", "97%", "goodput", 0.97),
        ("Time to train (min)", "60", "train_time_s", 3600.0),
    ],
)
def test_power_energy_price_and_time_are_measured(
    heading: str, cell: str, metric: str, value: float
) -> None:
    column = column_of(heading)
    found = list(results([parse_cell(cell, column)], [column], BareNumbers()))
    assert [one.metric for one in found] == [metric]
    assert found[0].value == pytest.approx(value)


@pytest.mark.parametrize(
    ("heading", "cell", "value"),
    [
        ("Params (B)", "6.7", 6.7),
        ("Params (M)", "760", 0.76),
        ("NumParams", "64862437376", 64.862437376),
        ("Model", "LLAMA3.1_405B", 405.0),
        ("Model", "GPT OSS 120B", 120.0),
        ("Model", "DeepSeekV3", None),
        ("Size", "1B3", 1.3),
        ("Size", "350M", 0.35),
        ("Model", "7", None),
    ],
)
def test_a_size_in_any_form(heading: str, cell: str, value: float | None) -> None:
    assert parse_cell(cell, column_of(heading)).value == value


@pytest.mark.parametrize(
    "heading",
    [
        "GlobalBatchSize (T)",
        "Global batch size (tokens)",
        "Batch (M tokens)",
        "Batch size (tok)",
        "MBS (tokens)",
    ],
)
def test_a_batch_in_tokens_is_none_in_sequences(heading: str) -> None:
    assert column_of(heading) is None


@pytest.mark.parametrize(
    "heading",
    [
        "Step time (total)",
        "TFLOPs (min)",
        "Tokens/s (per node)",
        "Throughput (requests/day)",
    ],
)
def test_a_qualified_result_is_another_quantity(heading: str) -> None:
    assert column_of(heading.split(" (")[0])
    assert column_of(heading) is None


@pytest.mark.parametrize(
    ("heading", "name", "unit"),
    [
        ("Step time (minutes)", "step_time", "min"),
        ("Step time (us)", "step_time", "us"),
        ("Iteration (s)", "step_time", "s"),
        ("Iter [ms]", "step_time", "ms"),
        ("Steps (sec)", "step_time", "s"),
        ("Step time (µs)", "step_time", "us"),
        ("Time (avg)", "step_time", "s"),
        ("TFLOPs (aggregate)", "agg_pflops", "TFLOP/s"),
        ("Total TFLOPs", "agg_pflops", "TFLOP/s"),
        ("Aggregate tokens/s", "tokens_per_s", "tokens/s"),
        ("TGS (total)", "tokens_per_s", "tokens/s"),
        ("Samples/s (per GPU)", "samples_per_s_per_device", "1/s"),
        ("TFLOPs (per GPU)", "tflops", "TFLOP/s"),
        ("Tokens/s (per GPU)", "tokens_per_s_per_device", "tokens/s"),
    ],
)
def test_a_qualifier_that_is_a_unit_or_a_scope_is_read(heading: str, name: str, unit: str) -> None:
    column = column_of(heading)
    assert column and (column.name, column.unit) == (name, unit)
