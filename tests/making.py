"""Logs, tables and warehouses for tests to work on.

Programs that only write logs import this too: what reads warehouses is imported where it is used.
"""

from pathlib import Path

HEADING = "| Nodes | Size | DP | TP | PP | MBS | GBS | Sec/it | TFLOPs |\n" + "|---" * 9 + "|\n"
ARGUMENTS = """------------------------ arguments ------------------------
  num_layers ...................................... {layers}
  tensor_model_parallel_size ...................... 2
  world_size ...................................... 8
-------------------- end of arguments ---------------------
"""
# What `sacct -P` prints.
SACCT_P = """JobID|JobName|State|ExitCode|Start|End|NNodes|Reason|SubmitLine
12|t.sh|TIMEOUT|0:15|2026-11-20T08:45:18|2026-11-20T08:46:36|1|TimeLimit|sbatch t.sh
12.batch|batch|CANCELLED|0:15|2026-11-20T08:45:18|2026-11-20T08:46:36|1||
13|wrap|CANCELLED by 1000|0:0|2026-11-20T08:45:18|2026-11-20T08:47:00|2||sbatch --wrap "a
b
c"
14_3|x|OUT_OF_MEMORY|0:125|2026-11-20T08:45:18|2026-11-20T08:47:00|2||
15|x|RUNNING|0:0|2026-11-20T08:45:18|Unknown|2||
16|x|NODE_FAIL|0:0|Unknown|Unknown|2||
"""
# A log format of a user's own.
OWN_FORMAT = """
title = "step lines of our own trainer"
url = "https://example.org/trainer"
reads = "iteration"
hint = "took"
pattern = '''st=(?P<iteration>\\d+)\\ took\\ (?P<step_time_s>[\\d.]+)ms'''

[groups]
iteration = { type = "bigint" }
step_time_s = { type = "double", shift = -3, unit = "ms" }

[[sample]]
line = "st=1 took 250.0ms"
source = "our trainer"
row = { iteration = 1, step_time_s = 0.25 }
"""


def iteration(number: int, step_ms: float = 100.0, of: int = 500) -> str:
    """One line of a Megatron-DeepSpeed log."""
    return (
        f" iteration {number:8d}/{of:8d} | consumed samples: {number * 8:12d} |"
        f" consumed tokens: {number * 512:12d} | elapsed time per iteration (ms): {step_ms:.1f} |"
        " learning rate: 1.000E-03 | global batch size:     8 | lm loss: 5.760191E+00 |"
        " loss scale: 1.0 | grad norm: 7.439 | actual seqlen:    64 |"
        " number of skipped iterations:   0 | number of nan iterations:   0 |"
        f" samples per second: {8000 / step_ms:.3f} | TFLOPs: 0.01 |\n"
    )


def log(iterations: int, step_ms: float = 100.0) -> str:
    """A log of so many iterations; `step_ms` makes it another log."""
    return "".join(iteration(number, step_ms) for number in range(1, iterations + 1))


def table(*rows: str) -> str:
    """A markdown document with a benchmark table of these rows, cells between `|`."""
    return "# Sweep\n\n" + HEADING + "".join(f"| {row} |\n" for row in rows)


def folder(path: Path, logs: int = 3, tables: int = 2, iterations: int = 5) -> Path:
    """A folder of logs and tables, no two alike."""
    path.mkdir(parents=True, exist_ok=True)
    for number in range(logs):
        (path / f"run{number:03d}.log").write_text(log(iterations, 100 + number))
    for number in range(tables):
        row = f"{2**number} | 124M | {2**number} | 1 | 1 | 1 | 512 | {40 + number}.5 | 1.36"
        (path / f"table{number:03d}.md").write_text(table(row))
    return path


def doubted(path: Path, logs: int = 3, tables: int = 2, iterations: int = 5) -> Path:
    """A folder of logs and tables, one more that contradicts itself, and `facts.toml` above."""
    folder(path, logs, tables, iterations)
    heads = "| GPUs | Size | DP | TP | PP | MBS | GBS | Sec/it |\n" + "|---" * 8 + "|\n"
    rows = (
        "| 64 | 124M | 4 | 4 | 1 | 1 | 512 | 12.3 |\n| 64 | 124M | 16 | 4 | 1 | 1 | 512 | 9.1 |\n"
    )
    (path / "wrong.md").write_text(f"# GPT 124M training\n\n{heads}{rows}")
    (path.parent / "facts.toml").write_text(
        '[[fact]]\nmatch = { file = "run000" }\nfield = "device"\nvalue = "A64FX"\n'
        'reason = "it ran there"\nauthor = "A. Author"\ndate = 2026-02-16\n'
    )
    return path


def count(db: Path, view: str, where: str = "true") -> int:
    """Rows of a view."""
    from bench.schema.materialized import STORED, materialize, views_are_stored
    from bench.schema.opening import open_read

    with open_read(db) as warehouse:
        if view in STORED and views_are_stored(warehouse):
            materialize(warehouse, view)
        [(rows,)] = warehouse.rows(f"SELECT count(*) FROM {view} WHERE {where}")
    return int(rows)


def whole(db: Path, iterations: int) -> int:
    """How many files are in; asserts that each is whole, and that nothing else is there."""
    from bench.schema.opening import open_read

    with open_read(db) as warehouse:
        loads = {load for (load,) in warehouse.rows("SELECT load_id FROM raw.loads")}
        sources = [load for (load,) in warehouse.rows("SELECT load_id FROM raw.sources")]
        assert sorted(sources) == sorted(loads)
        query = "SELECT load_id, count(*) FROM raw.iterations GROUP BY 1"
        assert {n for _, n in warehouse.rows(query)} <= {iterations}
        query = "SELECT load_id FROM raw.runs UNION ALL SELECT load_id FROM raw.iterations"
        assert {load for (load,) in warehouse.rows(query)} == loads
        query = "SELECT count(*) FROM raw.run_stats WHERE metric = 'step_time_s'"
        logs = "SELECT count(*) FROM raw.sources WHERE kind = 'log'"
        assert warehouse.rows(query) == warehouse.rows(logs)
    return len(loads)


def everything(db: Path) -> dict[str, list[str]]:
    """All rows of all public views, in order, without the times of loading and auditing."""
    from bench.schema.materialized import OF_PAGES, materialize
    from bench.schema.opening import open_read
    from bench.schema.reference import public_columns

    with open_read(db) as warehouse:
        # As pages read them; else each view computes those below anew.
        materialize(warehouse, *OF_PAGES)
        views = public_columns(warehouse)
        return {
            view: sorted(
                repr(row) for row in warehouse.rows(f"SELECT {_columns(columns)} FROM {view}")
            )
            for view, columns in views.items()
        }


def _columns(columns: list[tuple[str, str]]) -> str:
    # The name of an audit comes from its time.
    return ", ".join(f'"{name}"' for name, _ in columns if name not in ("loaded_at", "audit_id"))
