"""Lines of logs for tests, and what a reader makes of them."""

from __future__ import annotations

import io
from pathlib import Path

from bench.ingest.files.pipeline import ingest_into
from bench.ingest.logs.dialect import dialects
from bench.ingest.logs.lines import read_lines
from bench.ingest.logs.log import LogReader
from bench.ingest.logs.log_result import LogResult
from bench.schema.opening import in_memory
from bench.schema.rows import Row

WORLD = "using world size: 2, data-parallel-size: 2, tensor-model-parallel size: 1, "
BLOCK = """------------------------ arguments ------------------------
  data_parallel_size .............................. 2
  hf_token ........................................ hf_thisismysecret
  num_layers ...................................... 4
  tensor_model_parallel_size ...................... 1
  train_iters ..................................... {train_iters}
-------------------- end of arguments ---------------------"""


def header(train_iters: int = 4) -> str:
    return WORLD + "\n" + BLOCK.format(train_iters=train_iters)


def iteration(number: int, step: float = 100.0, of: int = 4, tail: str = "") -> str:
    return (
        f" iteration {number:8d}/{of:8d} | consumed samples: {8 * number:12d} | "
        f"elapsed time per iteration (ms): {step:.1f} | learning rate: 1.000E-03 | "
        f"global batch size:     8 | {tail or 'lm loss: 5.760191E+00 | grad norm: 7.439 |'} "
        "number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


def read(data: bytes | str, source: str = "source") -> LogResult:
    reader = LogReader(source, dialects())
    raw = data if isinstance(data, bytes) else data.encode()
    for line in read_lines(io.BytesIO(raw)):
        reader.feed(line)
    return reader.finish()


def rows(log: LogResult, table: str = "iterations") -> list[Row]:
    """The rows of a table that a log gives."""
    return log.rows.by_table.get(table, [])


def only_run(log: LogResult) -> Row:
    (run,) = rows(log, "runs")
    return run


def codes(log: LogResult) -> list[object]:
    return [row["code"] for row in rows(log, "warnings")]


def stored(folder: Path, text: str) -> tuple[list[tuple[object, ...]], list[str]]:
    """Step, time and loss of each step of a log, and what is said of its unknown trainer."""
    (folder / "run.log").write_text(text)
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder / "run.log"], folder)
        query = "SELECT iteration, round(step_time_s, 3), loss FROM iterations ORDER BY line"
        messages = warehouse.rows("SELECT message FROM warnings WHERE code = 'drafted_format'")
        return warehouse.rows(query), [message for (message,) in messages]
