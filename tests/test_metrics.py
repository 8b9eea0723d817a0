"""Each metric against published rows, and on numbers that no metric can be made of."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.schema.catalogue import column_note, metrics, view_notes
from bench.schema.materialized import OF_PAGES, materialize
from bench.schema.opening import in_memory
from bench.schema.reference import page, public_columns
from bench.schema.rows import Rows
from bench.schema.store import insert
from bench.schema.warehouse import Warehouse
from bench.vocabulary.hardware import device_of


@pytest.fixture(scope="module")
def warehouse(root: Path) -> Iterator[Warehouse]:
    with in_memory() as made:
        ingest_into(made, [root / "data" / "tables"], root / "data" / "tables")
        materialize(made, *OF_PAGES)  # computed once, not by each query
        yield made


def value(warehouse: Warehouse, metric: str, uri: str, line: int) -> tuple[float, float, float]:
    """Value, low and high of a metric for the row of a published table."""
    query = f"""SELECT m.value, m.low, m.high FROM metric_{metric} m JOIN runs USING (run_id)
                WHERE starts_with(uri, ?) AND line = ?"""
    [found] = warehouse.rows(query, [uri, line])
    return found


def line_of(warehouse: Warehouse, uri: str, *cells: str) -> int:
    """The line of the row that holds all these cells."""
    conditions = " AND ".join("list_contains(raws, ?)" for _ in cells)
    query = f"""SELECT line FROM (
                    SELECT uri, c.line, list(raw) AS raws FROM cells c
                    JOIN tables USING (table_id) GROUP BY uri, c.line)
                WHERE starts_with(uri, ?) AND {conditions}"""
    [(line,)] = warehouse.rows(query, [uri, *cells])
    return int(line)


def test_every_metric_says_what_it_is(warehouse: Warehouse) -> None:
    named = [metric.name for metric in metrics()]
    assert {"mfu", "step_time", "tokens_per_s_per_device"} <= set(named)
    assert [f"metric_{name}" for name in named] == [metric.view for metric in metrics()]
    columns = public_columns(warehouse)
    for metric in metrics():
        assert all((metric.title, metric.unit, metric.source, metric.made.ways))
        names = [name for name, _ in columns[metric.view]]
        assert names[0] == "run_id"
        assert {"value", "low", "high"} <= set(names)


def test_one_value_a_run(warehouse: Warehouse) -> None:
    for view in [metric.view for metric in metrics()] + ["model_flops", "configurations"]:
        query = f"SELECT count(*) = count(DISTINCT run_id), count(*) > 0 FROM {view}"
        assert warehouse.rows(query) == [(True, True)], view


def test_a_row_of_the_1b3_benchmarking(warehouse: Warehouse) -> None:
    """1.3B on 64 nodes, GBS 1024 of 1024 tokens, 162.5 s/it, 0.84 TFLOPs without recompute."""
    row = "001", line_of(warehouse, "001", "18502.5 MiB", "162.5")
    step, step_low, step_high = value(warehouse, "step_time", *row)
    assert (step, step_low, step_high) == pytest.approx((162.5, 162.45, 162.55))
    tokens, low, high = value(warehouse, "tokens_per_s", *row)
    assert tokens == pytest.approx(1024 * 1024 / 162.5)
    assert low < tokens < high
    assert value(warehouse, "tokens_per_s_per_device", *row)[0] == pytest.approx(tokens / 64)
    model = value(warehouse, "model_tflops", *row)[0]
    assert model / 1.0187 == pytest.approx(0.84, abs=0.005), "F7 is F2 and the missing logits"
    assert value(warehouse, "aggregate_pflops", *row)[0] == pytest.approx(model * 64 / 1000)
    assert value(warehouse, "documented_aggregate", *row)[0] == pytest.approx(0.84 * 64 / 1024)


def test_a_row_of_the_prequel(warehouse: Warehouse) -> None:
    """181B on 384 GPUs: 145.92 TFLOPs with recompute; without it, and F7, a share of 0.75."""
    row = "002", line_of(warehouse, "002", "145.92")
    step, _, _ = value(warehouse, "step_time", *row)
    tokens = value(warehouse, "tokens_per_s", *row)[0]
    assert tokens == pytest.approx(2048 * 2048 / step)
    model = value(warehouse, "model_tflops", *row)[0]
    assert 0.74 < model / 145.92 < 0.76


STRANGE = [0, 1, -1, 2**31 - 1, -(2**31), None]
SIZES = ["nodes", "devices", "devices_per_node", "procs_per_node", "dp", "tp", "pp", "cp"]
STRANGE_VALUES = [0.0, -1.0, 1e-300, 1e300, float("nan"), float("inf"), float("-inf"), None]


def strange() -> Rows:
    """Runs whose numbers are zero, negative, huge, missing or not numbers."""
    rows = Rows()
    for place, number in enumerate(STRANGE):
        for other, measured in enumerate(STRANGE_VALUES):
            run = f"{place}-{other}"
            shape = dict.fromkeys(
                ("layers", "hidden", "heads", "kv_heads", "seq_len", "vocab", "ffn_hidden"), number
            )
            rows.add(
                "runs", source_id="s", run_id=run, origin="row", table_id="t", row_number=place + 1,
                line=place, last_line=place, status="ok", kind="measured", flags=[], job_ids=[],
                params_b=measured, params_stated=number, **shape,
            )  # fmt: skip
            rows.add(
                "topology", run_id=run,
                **{name: number for name in SIZES if name != SIZES[other]}, gbs=number, mbs=number,
            )  # fmt: skip
            for metric in ("step_time_s", "tflops", "tokens_per_s_per_device", "samples_per_s"):
                rows.add(
                    "measurements", run_id=run, metric=metric, value=measured, unit="s",
                    low=measured, high=measured, raw="?", flags=[], marks=[], line=1,
                )  # fmt: skip
    rows.add(
        "sources", source_id="s", kind="csv", bytes=0, lines=0, lines_read=0, lines_known=0,
        lines_unread=0, encoding_errors=0,
    )  # fmt: skip
    return rows


def test_no_number_breaks_a_view() -> None:
    with in_memory() as warehouse:
        insert(warehouse.con, strange(), "load")
        query = "INSERT INTO raw.loads VALUES ('u', 1, 'load', 's', '', 0, 0, 1, now()::TIMESTAMP)"
        warehouse.con.execute(query)
        materialize(warehouse, *OF_PAGES)  # else each view computes those below anew
        for view in public_columns(warehouse):
            warehouse.rows(f"FROM {view}")
        [(runs,)] = warehouse.rows("SELECT count(*) FROM configurations")
        assert runs == len(STRANGE) * len(STRANGE_VALUES)
        for metric in metrics():
            query = (
                f"SELECT value FROM {metric.view} WHERE NOT isfinite(value) AND value IS NOT NULL"
            )
            assert warehouse.rows(query) == [], metric.name


def test_shapes_that_the_formulas_do_not_fit_have_no_f7() -> None:
    rows = Rows()
    common = {
        "source_id": "s", "origin": "log", "line": 1, "last_line": 2, "status": "ok",
        "kind": "measured", "flags": [], "job_ids": [], "layers": 32, "hidden": 4096, "heads": 32,
        "seq_len": 2048, "params_stated": 7_000_000_000,
    }  # fmt: skip
    rows.add("runs", run_id="plain", ffn_hidden=16384, **common)
    rows.add("runs", run_id="gated", swiglu=True, ffn_hidden=11008, **common)
    for run in ("plain", "gated"):
        rows.add("topology", run_id=run, gbs=128, devices=8)
    with in_memory() as warehouse:
        insert(warehouse.con, rows, "load")
        query = "INSERT INTO raw.loads VALUES ('u', 1, 'load', 's', '', 0, 0, 1, now()::TIMESTAMP)"
        warehouse.con.execute(query)
        made = warehouse.rows("SELECT run_id, formula, flops FROM model_flops")
    assert {run: formula for run, formula, _ in made} == {"plain": "F7", "gated": "F5"}
    assert {flops for _, formula, flops in made if formula == "F5"} == {6 * 7e9 * 128 * 2048}


def of_markdown(folder: Path, text: str, query: str) -> list[tuple[object, ...]]:
    (folder / "a.md").write_text(text, "utf-8")
    with in_memory() as made:
        ingest_into(made, [folder], folder)
        materialize(made, *OF_PAGES)
        return [tuple(row) for row in made.rows(query)]


@pytest.mark.parametrize(
    ("model", "ep", "formula"),
    [
        ("7B", 1, "F5"),
        ("7B", 8, None),
        ("8x7B", 1, None),
        ("30B-A3B", 1, None),
        ("7B-MoE", 1, None),
    ],
)
def test_dense_formulas_are_for_dense_models(
    tmp_path: Path, model: str, ep: int, formula: str | None
) -> None:
    text = f"""| Model | Nodes | EP | GBS | Seq len | Sec/it |
|--|--|--|--|--|--|
| {model} | 4 | {ep} | 128 | 2048 | 3.5 |
"""
    found = of_markdown(tmp_path, text, "SELECT formula FROM metric_model_tflops")
    assert found == ([(formula,)] if formula else [])


def test_a_copy_agrees_in_all_that_is_stated(tmp_path: Path) -> None:
    text = """| Nodes | TP | MBS | VPP | Dtype | Sec/it | Notes |
|--|--|--|--|--|--|--|
| 4 | 8 | 1 | 2 | bf16 | 3.5 | job 123456 |
| 4 | 8 | 1 | 2 | bf16 | 3.5 | job 123456 |
| 4 | 8 | 1 | 4 | bf16 | 3.5 | job 123456 |
| 4 | 8 | 1 | 2 | fp16 | 3.5 | job 123456 |
| 4 | 8 | 1 | 2 | bf16 | 3.5 | job 123457 |
"""
    query = "SELECT line FROM left_out JOIN runs USING (run_id) WHERE reason = 'copy'"
    assert of_markdown(tmp_path, text, query) == [(4,)]


def test_a_copy_has_no_other_shape(tmp_path: Path) -> None:
    table = "| Nodes | TP | Sec/it |\n|--|--|--|\n| 4 | 8 | 3.5 |\n"
    text = "".join(
        f"# {name}\n\n{shape}\n\n{table}\n"
        for name, shape in (("A", "NLAYERS=24"), ("B", "NLAYERS=48"), ("C", "none"))
    )
    query = """SELECT layers FROM left_out JOIN configurations USING (run_id)
               WHERE reason = 'copy' ORDER BY line"""
    assert of_markdown(tmp_path, text, query) == [(None,)]


def test_a_finding_of_the_audit_leaves_a_run_out(warehouse: Warehouse) -> None:
    with in_memory() as audited:
        rows = strange()
        for severity, run in (("error", "1-1"), ("warning", "2-2")):
            rows.add(
                "findings", run_id=run, rule="R1", severity=severity, title="off", rule_version=1,
                audit_id="new", rules=["R1"], closed="", name="tflops",
            )  # fmt: skip
            rows.add(
                "findings", run_id="2-2", rule="R2", severity="error", title="no", rule_version=1,
                audit_id="old", rules=["R2"], closed="", name="dp",
            )  # fmt: skip
        for day, name in ((1, "old"), (2, "new")):
            rows.add(
                "audits", audit_id=name, rules_version=1, facts="", made_at=datetime(2026, 1, day)
            )
        insert(audited.con, rows, "load")
        query = "INSERT INTO raw.loads VALUES ('u', 1, 'load', 's', '', 0, 0, 1, now()::TIMESTAMP)"
        audited.con.execute(query)
        query = "SELECT run_id, detail FROM left_out WHERE reason = 'finding'"
        assert audited.rows(query) == [("1-1", "R1: off")]


def test_every_public_name_is_explained(root: Path, warehouse: Warehouse) -> None:
    text = (root / "docs" / "warehouse.md").read_text("utf-8")
    for view, columns in public_columns(warehouse).items():
        assert view_notes().get(view), f"no line `-- {view}: ...` in the SQL"
        assert f"### {view}\n" in text
        for column, _ in columns:
            assert column_note(view, column), f"no comment says what {view}.{column} holds"


def test_the_page_on_the_warehouse_is_made_from_the_sql(root: Path) -> None:
    text = (root / "docs" / "warehouse.md").read_text("utf-8")
    assert text == page(), "make generate"


TRIAL = """-- title: Tokens per second and node
-- unit: tokens/s
-- source: tokens/s of the job over its nodes
-- from: tokens_per_s / nodes
CREATE OR REPLACE VIEW metric_trial AS
SELECT run_id, per(k.value, nodes) AS value, per(k.low, nodes) AS low, per(k.high, nodes) AS high
FROM metric_tokens_per_s k JOIN configurations USING (run_id);
"""


@pytest.mark.slow
def test_a_metric_is_one_file(root: Path, tmp_path: Path) -> None:
    """A package with one more file lists the metric, filters on it and explains it."""
    package = tmp_path / "lib" / "bench"
    package.mkdir(parents=True)
    for entry in root.iterdir():
        if entry.name != "schema" and not entry.name.startswith("."):
            (package / entry.name).symlink_to(entry)
    shutil.copytree(root / "schema", package / "schema")
    (package / "schema" / "metrics" / "trial.sql").write_text(TRIAL)

    def bench(*args: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "lib")}
        done = subprocess.run(
            [sys.executable, "-m", "bench", *args],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    document = str(root / "data" / "tables" / "004_tr3m-1B3.md")
    asked = ("runs", document, "--columns", "where,trial", "--format", "csv")
    listed = [float(line.split(",")[1]) for line in bench(*asked, "--where", "trial > 5000")
              .splitlines()[1:]]  # fmt: skip
    assert listed and min(listed) > 5000
    assert len(bench(*asked).splitlines()) > len(listed) + 1
    tree = bench("explain", "004:44.trial", document)
    assert "= tokens_per_s / nodes" in tree and "under 'NNODES'" in tree
    assert "004:44.trial  computed" in bench(
        "explain", tree.split("trial = ")[1].split()[0], document
    )


def test_the_share_of_the_peak(warehouse: Warehouse) -> None:
    """45,590 tokens/s of 1.3B on 8 V100 are 44.5 of 125 TFLOP/s each, if in 16 bits."""
    row = "004", 44
    assert value(warehouse, "mfu", *row)[0] == pytest.approx(6 * 1.3e9 * 45590.26 / 8 / 125e12)
    assert value(warehouse, "hfu", *row)[0] == value(warehouse, "mfu", *row)[0], "no recompute"
    full = "004", 24
    assert value(warehouse, "hfu", *full)[0] == pytest.approx(
        4 / 3 * value(warehouse, "mfu", *full)[0]
    )
    query = """SELECT peak_name, peak_assumed FROM metric_mfu JOIN runs USING (run_id)
               WHERE line = 44 AND starts_with(uri, '004')"""
    assert warehouse.rows(query) == [("V100-SXM2 fp16/bf16", True)]


def test_patterns_of_devices_are_the_same_in_sql(warehouse: Warehouse) -> None:
    texts = ["V100-32GB", "NVIDIA H100 80GB HBM3", "H100 PCIe", "A64FX 2.2GHz", "TPU v5p", "GB200",
             "v5litepod-16", "AMD Instinct MI300X", "xA100"]  # fmt: skip
    query = """SELECT arg_min(name, place) FROM device_peaks WHERE regexp_matches(?, pattern)"""
    for text in texts:
        found = device_of(text)
        assert warehouse.rows(query, [text]) == [(found.name if found else None,)], text


def test_a_printed_share_is_not_displaced(tmp_path: Path) -> None:
    head = "| Model | Device | dtype | GPUs | GBS | Seq len | Recompute | Sec/it | MFU (%) |"
    rows = [f"| 7B | A100 | bf16 | 8 | 64 | 2048 | full | {end} |" for end in ("5 | 40", "6 | -")]
    query = """SELECT m.value, m.from_where, m.peak_name, h.value FROM metric_mfu m
               JOIN metric_hfu h USING (run_id) JOIN runs USING (run_id) ORDER BY line"""
    [printed, other] = of_markdown(tmp_path, "\n".join([head, f"|{'--|' * 9}", *rows]), query)
    assert printed == (0.4, "printed", None, pytest.approx(0.4 * 4 / 3)) and other[1] == "computed"
