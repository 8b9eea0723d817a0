"""Logs of other projects against readings made by hand: rows, and cells equal, wrong, missing.

`python tests/log_truth.py [FOLDER] [NAME ...]` prints a line for each log and all values that are
wrong.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory

LOGS = Path(__file__).parents[2] / "shared" / "logs" / "more"
COLUMNS = ("step_time_s", "samples_per_s", "tokens_per_s", "tokens_per_s_per_device", "tflops",
           "loss", "lr", "grad_norm")  # fmt: skip
TOLERANCE = 1e-6  # of a value; derived ones such as 1 / (it/s) are rounded
NO_VALUE = ("", "nan", "inf", "-inf")

Cells = dict[str, set[float]]  # all values that are printed of a step, by column


@dataclass(slots=True)
class LogScore:
    """One log: its printed steps, those stored, and how their cells compare."""

    name: str
    steps: int = 0
    rows: int = 0
    invented: int = 0  # rows at a step that the log does not print
    runs: tuple[int, int] = (0, 0)  # as they are, as stored
    equal: int = 0
    wrong: int = 0
    missing: int = 0
    faults: list[str] = field(default_factory=list)

    def fault(self, step: int, column: str, value: float) -> None:
        """A stored value that the log does not print for its step."""
        self.wrong += 1
        self.faults.append(f"{self.name} step {step}: {column} {value!r}")

    def text(self) -> str:
        """One line."""
        counts = f"{self.rows:>5} of {self.steps:>5} steps, {self.invented:>3} invented"
        cells = f"{self.equal:>5} equal {self.wrong:>5} wrong {self.missing:>5} missing"
        return f"{self.name:<28} {counts}; {cells}; runs {self.runs[1]} of {self.runs[0]}"


def score_logs(folder: Path = LOGS, names: Sequence[str] = ()) -> list[LogScore]:
    """Every log of the folder that has a reading, or those named, against what is stored of it."""
    golden: dict[str, dict[str, object]] = json.loads((folder / "golden.json").read_text("utf-8"))
    wanted = [name for name in golden if not names or name.removesuffix(".log") in names]
    required, optional = _readings(folder)
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder / name for name in wanted], folder)
        stored = warehouse.dicts("SELECT r.uri, i.* FROM iterations i JOIN runs r USING (run_id)")
        rows = defaultdict(list)
        for row in stored:
            rows[str(row["uri"])].append(row)
        query = "SELECT uri, count(*) AS runs FROM runs GROUP BY uri"
        runs = {str(row["uri"]): int(str(row["runs"])) for row in warehouse.dicts(query)}
    scores = []
    for name in wanted:
        score = LogScore(name.removesuffix(".log"), runs=(int(str(golden[name]["runs"])),
                                                          runs.get(name, 0)))  # fmt: skip
        also = 1 if golden[name].get("counts_from") == 0 else 0
        free = {column for column in COLUMNS if _is_optional(golden[name], column)}
        _compare(score, rows[name], required[name], optional[name], also, free)
        scores.append(score)
    return scores


def _readings(folder: Path) -> tuple[dict[str, dict[int, Cells]], dict[str, dict[int, Cells]]]:
    """What has to be stored of each step of a log, and what may be."""
    required: dict[str, dict[int, Cells]] = defaultdict(dict)
    optional: dict[str, dict[int, Cells]] = defaultdict(dict)
    unnumbered: dict[str, int] = defaultdict(int)
    with (folder / "rows.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if not row["step"]:  # printed without a number: no step has it
                unnumbered[row["file"]] -= 1
                continue
            kind = optional if row["optional"] else required
            for step in {row["step"], row["step_also"] or row["step"]}:
                cells = kind[row["file"]].setdefault(int(step), defaultdict(set))
                own = kind is required and step == row["step"]
                for column, value in _values(row):
                    (cells if own else optional[row["file"]].setdefault(
                        int(step), defaultdict(set)))[column].add(value)  # fmt: skip
    return required, optional


def _is_optional(golden: Mapping[str, object], column: str) -> bool:
    fields = golden["fields"]
    assert isinstance(fields, dict)
    return column in fields and fields[column].get("optional") is True


def _values(row: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    return ((name, float(row[name])) for name in COLUMNS if row[name] not in NO_VALUE)


def _compare(
    score: LogScore,
    rows: Sequence[Mapping[str, object]],
    required: Mapping[int, Cells],
    optional: Mapping[int, Cells],
    also: int,
    free: Collection[str],
) -> None:
    printed = {step for step, cells in required.items() if cells}
    score.steps = len(printed)
    stored = {int(str(row["iteration"])): row for row in rows}
    # A log that counts from 0 may be stored so or from 1, but in one way.
    shift = also if also and 0 not in stored and max(stored, default=0) > max(printed) else 0
    for step in printed:
        row = stored.get(step + shift, {})
        score.rows += bool(row)
        for column in required[step]:
            score.missing += row.get(column) is None and column not in free
    for number, row in stored.items():
        step = number - shift
        score.invented += step not in printed and step not in optional
        for column in COLUMNS:
            value = row.get(column)
            if isinstance(value, float):
                own, other = (cells.get(step, {}).get(column, set()) for cells in
                              (required, optional))  # fmt: skip
                if any(abs(value - one) <= TOLERANCE * max(1.0, abs(one)) for one in own | other):
                    score.equal += bool(own)
                else:
                    score.fault(step, column, value)


def main(arguments: Sequence[str]) -> None:
    """Print the score of each log and of all."""
    folder = Path(arguments[0]) if arguments and Path(arguments[0]).is_dir() else LOGS
    names = [name for name in arguments if not Path(name).is_dir()]
    scores = score_logs(folder, names)
    for score in scores:
        print(score.text())
    for score in scores:
        print(*score.faults[:4], sep="\n", end="\n" if score.faults else "")
    total = {name: sum(getattr(score, name) for score in scores)
             for name in ("steps", "rows", "invented", "equal", "wrong", "missing")}  # fmt: skip
    print(", ".join(f"{name} {count}" for name, count in total.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
