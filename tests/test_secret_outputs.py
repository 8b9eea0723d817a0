"""Secrets in every kind of file that is read: no command prints one, in whatever format."""

import csv
import html
import json
from pathlib import Path

import pytest

from bench.schema.opening import open_read
from tests import secret_fresh, secret_list
from tests.program import quick

STEP = (
    " iteration {:8d}/     500 | consumed samples: 512 | elapsed time per iteration (ms): 150.0 |"
    " learning rate: 1.0E-04 | global batch size: 32 | lm loss: 5.76E+00 | loss scale: 1.0 |"
    " grad norm: 1.2 | number of skipped iterations: 0 | number of nan iterations: 0 |"
)
HEADINGS = ("Nodes", "TP", "Sec/it", "TFLOPs", "Note")
COMMANDS = (
    ("ingest", ".", "--all", "-v"),
    ("audit", ".", "--format", "json"),
    ("audit", "."),
    ("doctor", ".", "--all", "--format", "json"),
    ("report",),
    ("runs", "--all", "--format", "json"),
    ("best", "--format", "json"),
    ("show", "failed.log"),
    ("explain", "table.md:9"),
    ("failures", "--all", "--format", "json"),
    ("db", "check", "--secrets"),
    ("sql", "FROM cells", "--format", "json"),
)


def texts(seed: int) -> list[str]:
    """Those of one line; a cell has no bar."""
    return [
        text.replace("|", "/")
        for text, _ in secret_list.examples(seed, secret_fresh.TEXTS)
        if "\n" not in text and not text.startswith(("|", "<"))
    ]


def carriers(top: Path) -> None:
    """Tables and logs, in each way to write them, with a secret in every row."""
    rows = [(n, 4, 1.5, f"50.{n}", text) for n, text in enumerate(texts(1), 1)]
    with (top / "table.csv").open("w", newline="") as file:
        csv.writer(file).writerows([HEADINGS, *rows])
    bars = [" | ".join(map(str, row)) for row in [HEADINGS, ("-",) * 5, *rows]]
    (top / "table.md").write_text("# Runs\n\n" + "\n".join(f"| {row} |" for row in bars) + "\n")
    cells = [" & ".join(map(str, row)).replace("\\", "") + r" \\" for row in [HEADINGS, *rows]]
    (top / "table.tex").write_text(
        "\\begin{tabular}{lllll}\n" + "\n".join(cells) + "\n\\end{tabular}\n"
    )
    drawn = ["".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) for row in rows]
    head = "".join(f"<th>{name}</th>" for name in HEADINGS)
    body = "".join(f"<tr>{row}</tr>\n" for row in drawn)
    (top / "table.html").write_text(f"<table>\n<tr>{head}</tr>\n{body}</table>\n")
    steps = [STEP.format(step) for step in range(1, 7)]
    (top / "train.log").write_text("\n".join([*steps, *texts(2), steps[-1]]) + "\n")
    beside = [f"{STEP.format(n)} {text}" for n, text in enumerate(texts(3), 1)]
    (top / "beside.log").write_text("\n".join(beside) + "\n")
    failed = ["Traceback (most recent call last):", f"RuntimeError: {texts(4)[0]}"]
    (top / "failed.log").write_text("\n".join([*steps, *failed]) + "\n")
    printed = [{"output_type": "stream", "name": "stdout", "text": [f"{text}\n"]}
               for text in [*steps, *texts(5)]]  # fmt: skip
    noted = [{"cell_type": "markdown", "metadata": {}, "source": [f"{row}\n" for row in bars]},
             {"cell_type": "code", "source": texts(6), "outputs": printed}]  # fmt: skip
    (top / "notes.ipynb").write_text(json.dumps({"cells": noted, "nbformat": 4}, indent=1))
    points = [{"step": n, "loss": 5.0, "tokens_per_sec": 12000 + n, "step_time": 0.5, "note": text}
              for n, text in enumerate(texts(7), 1)]  # fmt: skip
    (top / "metrics.jsonl").write_text("\n".join(map(json.dumps, points)) + "\n")
    state = {"global_step": 9, "log_history": points, "trial_name": texts(8)[0]}
    (top / "trainer_state.json").write_text(json.dumps(state))


@pytest.fixture(scope="module")
def secrets() -> set[str]:
    every = [s for seed in range(1, 9) for _, s in secret_list.examples(seed, secret_fresh.TEXTS)]
    return {secret for found in every for secret in found if len(secret) >= 8}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("carriers")
    carriers(top)
    return top


def test_no_command_prints_one(folder: Path, secrets: set[str]) -> None:
    for command in COMMANDS:
        printed = quick(folder, *command)
        assert printed.text, command
        found = [one for one in secrets if one in printed.text]
        assert found == [], (command, len(found))


def test_no_file_that_is_written_has_one(folder: Path, secrets: set[str], tmp_path: Path) -> None:
    quick(folder, "ingest", ".")
    quick(folder, "site", "-o", str(tmp_path / "site"))
    quick(folder, "export", "-o", str(tmp_path / "tables"), "--format", "csv")
    quick(folder, "export", "--records", str(tmp_path / "records"))
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(written) > 50
    for file in [*written, folder / "bench.duckdb"]:
        text = file.read_bytes().decode("utf-8", "replace")
        assert [one for one in secrets if one in text] == [], file.name


def test_the_line_that_is_told_is_that_of_the_secret(folder: Path) -> None:
    quick(folder, "ingest", ".")
    with open_read(folder / "bench.duckdb") as warehouse:
        told = warehouse.rows("SELECT uri, line FROM warnings WHERE code = 'redacted'")
    lines = {uri: {line for name, line in told if name == uri} for uri, _ in told}
    assert lines["failed.log"] == {7}  # where the traceback begins
    assert len(lines["table.csv"]) > 100 and max(lines["table.csv"]) > 150
