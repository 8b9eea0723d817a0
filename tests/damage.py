"""Rows damaged at random: how much of it the audit sees, and whom it accuses wrongly."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from bench.audit.load import load
from bench.audit.run import audit
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from tests.auditing import ERRORS
from tests.sweeps import KINDS, MACHINES, MODELS, Sweep, damage, sweep

RECALL, FALSE = 0.9, 1 / 200
Lines = dict[str, set[int]]


@dataclass
class Tally:
    """Damaged rows of one kind: found of those that physics can see, and of the others."""

    seen: int = 0
    visible: int = 0
    lucky: int = 0
    hidden: int = 0

    def add(self, *, visible: bool, found: bool) -> None:
        if visible:
            self.visible += 1
            self.seen += found
        else:
            self.hidden += 1
            self.lucky += found


def accused(folder: Path) -> Lines:
    """Lines with an error, by document."""
    found: Lines = defaultdict(set)
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder], folder)
        for one in audit(warehouse):
            for uri, line in one.rows() if one.severity == "error" else ():
                found[uri].add(line)
    return found


def tell(
    title: str, tallies: dict[str, Tally], wrong: int, rows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(f"\n{title}: {wrong} false errors on {rows} rows")
        for kind, one in tallies.items():
            share = one.seen / one.visible if one.visible else 1.0
            print(f"  {kind:13} {share:5.2f} of {one.visible:3} that physics can see; "
                  f"{one.lucky} of {one.hidden} others")  # fmt: skip


def check(tallies: dict[str, Tally], wrong: int, rows: int) -> None:
    for kind, one in tallies.items():
        assert one.seen >= RECALL * one.visible, kind
    assert wrong <= FALSE * rows


Result = tuple[dict[str, Tally], int, int]  # by kind; false errors; rows


def of_made_sweeps(folder: Path, seeds: range) -> Result:
    """Sweeps of every model, machine and kind of damage, written to a folder and audited."""
    made: dict[str, Sweep] = {}
    for seed in seeds:
        for number, model in enumerate(MODELS):
            for place, machine in enumerate(MACHINES):
                for kind in (*KINDS, ""):
                    name = f"{seed}-{number}-{place}-{kind or 'whole'}.md"
                    rng = Random(name)
                    whole = sweep(rng, model, machine)
                    made[name] = damage(rng, whole, kind) if kind else whole
                    (folder / name).write_text(made[name].text())
    found = accused(folder)
    tallies: dict[str, Tally] = defaultdict(Tally)
    wrong = rows = 0
    for name, one in made.items():
        line = one.lines[one.damaged] if one.damaged is not None else None
        if line is not None:
            tallies[one.kind].add(visible=one.visible, found=line in found[name])
        wrong += len(found[name] - {line})
        rows += len(one.rows)
    return tallies, wrong, rows


@dataclass(frozen=True)
class Target:
    """A correct row of a document that can be damaged: its line, and its cells by column."""

    file: str
    line: int
    cells: dict[str, tuple[int, str]]
    stated: bool  # whether the document or its label says the shape
    mbs_dp: int


def targets(folder: Path) -> Iterator[Target]:
    """Rows with time and TFLOPs that no error stands on."""
    from bench.audit.formulas import shape_of

    with in_memory() as warehouse:
        ingest_into(warehouse, sorted(folder.glob("[0-9]*.md")), folder)
        query = """SELECT t.uri, c.line, c.name, c.column_number, c.raw FROM cells c
                   JOIN tables t USING (table_id) WHERE c.name IS NOT NULL"""
        cells: dict[tuple[str, int], dict[str, tuple[int, str]]] = defaultdict(dict)
        for uri, line, name, number, raw in warehouse.rows(query):
            cells[uri, line][name] = number, raw
        bad = {(name, line) for name, line in ERRORS}
        for document in load(warehouse).documents:
            for row in document.rows:
                whole = row.time and row.tflops and row.origin == "row"
                if whole and (row.uri[:3], row.line) not in bad and not row.flags:
                    stated = row.layers is not None or shape_of(row.params_b) is not None
                    split = (row.mbs or 1) * (row.data_parallel or 1)
                    yield Target(row.uri, row.line, cells[row.uri, row.line], stated, split)


def put(text: str, target: Target, **values: str) -> str:
    """The document with other texts in some cells of a row."""
    lines = text.split("\n")
    cells = re.split(r"(?<!\\)\|", lines[target.line - 1])
    for name, value in values.items():
        cells[target.cells[name][0]] = f" {value} "
    lines[target.line - 1] = "|".join(cells)
    return "\n".join(lines)


def changed(text: str, rng: Random) -> str:
    """A number with its first or second digit changed: those that matter."""
    places = [place for place, letter in enumerate(text) if letter.isdigit()][:2]
    place = rng.choice(places)
    return (
        text[:place] + rng.choice([d for d in "123456789" if d != text[place]]) + text[place + 1 :]
    )


def leading(text: str) -> str:
    """The number that a cell begins with."""
    found = re.match(r"[\d.]+", text)
    assert found is not None, text
    return found[0]


def damaged(kind: str, target: Target, rng: Random) -> tuple[dict[str, str], bool]:
    """New texts of the cells, and whether physics can see it."""
    cells = {name: raw for name, (_, raw) in target.cells.items()}
    if kind in ("digit of time", "digit of TFLOPs"):
        name = "step_time" if kind.endswith("time") else "tflops"
        new = changed(cells[name], rng)
        old, value = (float(leading(text)) for text in (cells[name], new))
        digits = min(len(re.sub(r"\D", "", cells[one])) for one in ("step_time", "tflops"))
        return {name: new}, target.stated and abs(value / old - 1) > 4 * 10.0 ** (1 - digits)
    if kind == "unit of time":
        return {"step_time": f"{leading(cells['step_time'])}ms"}, target.stated
    if kind == "GBS":
        if "gbs" not in cells:
            return {}, False
        return {"gbs": str(int(cells["gbs"]) // 2)}, target.stated
    if kind == "nodes":
        number = re.match(r"\d+", cells["nodes"])
        assert number is not None
        return {"nodes": cells["nodes"].replace(number[0], str(2 * int(number[0])), 1)}, True
    if kind == "topology":
        if "dp" not in cells:
            return {}, False
        return {"tp": str(2 * int(cells["tp"]))}, True
    rate = float(leading(cells["tflops"]))
    return {"tflops": f"{rate * 0.75:.{len(cells['tflops'].partition('.')[2])}f}"}, target.stated


# How many rows are damaged in each way: fewer where the count of devices gives every row away.
DAMAGES = {
    "digit of time": 24, "digit of TFLOPs": 24, "unit of time": 24, "GBS": 24, "nodes": 8,
    "topology": 8, "formula": 24,
}  # fmt: skip


def of_published_documents(
    documents: Path, folder: Path, each: Mapping[str, int], seed: int
) -> Result:
    """Rows of documents, so many damaged in each way, each in a copy of its document."""
    rng = Random(seed)
    rows = list(targets(documents))
    tallies: dict[str, Tally] = defaultdict(Tally)
    planned = []
    for kind, count in each.items():
        for number, target in enumerate(rng.sample(rows, count)):
            values, visible = damaged(kind, target, rng)
            if values:
                name = f"{kind.replace(' ', '-')}-{number}.md"
                text = put((documents / target.file).read_text("utf-8"), target, **values)
                (folder / name).write_text(text)
                planned.append((name, kind, target, visible))
    found = accused(folder)
    wrong = total = 0
    for name, kind, target, visible in planned:
        known = {line for document, line in ERRORS if document == target.file[:3]}
        tallies[kind].add(visible=visible, found=target.line in found[name])
        wrong += len(found[name] - known - {target.line})
        total += sum(one.file == target.file for one in rows)
    return tallies, wrong, total
