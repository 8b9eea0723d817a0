"""One page of measurements, written as other people write it: values may go, none may be wrong.

The page is made from rows that are known, so what a reading gives is compared with these and with
no other reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import pytest

from bench.ingest.documents.tables import read_markdown

_NAMES: dict[str, tuple[str, ...]] = {
    "size": ("Model", "Model size", "Size", "模型", "参数规模"),
    "devices": ("GPUs", "# GPUs", "Num GPUs", "GPU count", "NGPU", "卡数"),
    "tp": ("TP", "TP size", "Tensor parallel", "tensor model parallel size", "张量并行"),
    "pp": ("PP", "Pipeline parallel", "PP degree", "流水线并行"),
    "mbs": ("MBS", "Micro batch size", "micro-batch / GPU", "micro_batch_size"),
    "gbs": ("GBS", "Global batch size", "Global BS", "global_batch_size"),
    "step_time_s": (
        "Step time (s)",
        "s/it",
        "Time per step (s)",
        "Iteration time (s)",
        "单步迭代时间 (s/step)",
    ),
    "tokens_per_s_per_device": (
        "Tokens/s/GPU",
        "TGS",
        "throughput rate (tokens/s/p)",
        "Tokens per second per GPU",
        "tokens吞吐 (tokens/s/p)",
        "Training throughput (tok/s/GPU)",
    ),
    "tflops": ("TFLOP/s/GPU", "Model TFLOPs/sec/GPU", "TFLOPs per GPU", "Achieved TFLOP/s"),
    "mfu": ("MFU", "MFU (%)", "Model FLOPs utilization"),
    "memory": ("Peak memory (GB)", "Max memory (GB)", "GPU Mem (GB)", "Memory (GB)"),
}
_RESULTS = ("step_time_s", "tokens_per_s_per_device", "tflops", "mfu", "memory")
# Statements of other runs than these: nothing of them may reach a row.
_ELSEWHERE = (
    "## Possible config\n\nNLAYERS=96; NHIDDEN=13312; TP=16; PP=12; SEQ_LEN=512\n",
    "## Example script\n\n```bash\nMICRO_BATCH=64 TP=32 SEQ_LEN=128 NLAYERS=3\n```\n",
    "## Next steps\n\nWe plan a 530B model with 105 layers, hidden size 20480 on 2240 H100 GPUs.\n",
    "## Related work\n\nMegatron-LM trains 1T with sequence length 1024 on 3072 A100 GPUs.\n",
    "## Targets\n\n| Metric | Target |\n|---|---|\n| MFU | 60% |\n| Tokens/s/GPU | 99999 |\n",
    "## Serving\n\n| Batch | Tokens/s | TTFT (ms) |\n|---|---|---|\n| 1 | 77 | 12 |\n",
)
_WORDS = ("roughly", "(see wandb)", "quux=7", "on our cluster", "ratio: 42", "[^1]")
_COLUMNS = (
    ("run id", "x{}"),
    ("Notes", "again {}"),
    ("val loss", "2.{}"),
    ("Δ vs baseline", "+{}%"),
)


@dataclass
class Page:
    """Rows that were run, and how the page writes them."""

    rows: list[dict[str, object]]
    names: dict[str, str]
    lead: str = "We trained with sequence length 2048 in bf16 on H100 nodes of 8 GPUs."
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    write: Callable[[Sequence[Sequence[str]]], str] | None = None


def rows(rng: Random) -> list[dict[str, object]]:
    made = []
    for size in rng.sample((7, 13, 30, 70), 3):
        tp, pp = rng.choice((1, 2, 4)), rng.choice((1, 2))
        made.append(
            {
                "size": f"{size}B",
                "devices": 16 * tp * pp,
                "tp": tp,
                "pp": pp,
                "mbs": rng.choice((1, 2, 4)),
                "gbs": 512,
                "step_time_s": rng.randrange(200, 900) / 100,
                "tokens_per_s_per_device": rng.randrange(500, 9000),
                "tflops": rng.randrange(200, 500),
                "mfu": rng.randrange(200, 500) / 10,
                "memory": rng.randrange(400, 790) / 10,
            }
        )
    return made


def page(rng: Random) -> Page:
    return Page(rows(rng), {name: words[0] for name, words in _NAMES.items()})


def rename(made: Page, rng: Random) -> None:
    made.names = {name: rng.choice(words) for name, words in _NAMES.items()}


def drop(made: Page, rng: Random) -> None:
    for name in rng.sample([name for name in made.names if name not in ("size", "tflops")], 3):
        del made.names[name]


def add_columns(made: Page, rng: Random) -> None:
    for heading, text in rng.sample(_COLUMNS, 2):
        made.names = {**made.names, heading: heading}
        for at, row in enumerate(made.rows):
            row[heading] = text.format(at + 3)


def add_words(made: Page, rng: Random) -> None:
    made.lead = f"{made.lead.rstrip('.')} {rng.choice(_WORDS)} {rng.choice(_WORDS)}."


def add_others(made: Page, rng: Random) -> None:
    others = rng.sample(_ELSEWHERE, 3)
    cut = rng.randrange(4)
    made.before, made.after = others[:cut], others[cut:]


def shuffle(made: Page, rng: Random) -> None:
    names = list(made.names.items())
    rng.shuffle(names)
    made.names = dict(names)
    rng.shuffle(made.rows)


def turn(made: Page, rng: Random) -> None:
    made.names = {"size": made.names["size"], **made.names}
    made.write = lambda grid: markdown(list(zip(*grid, strict=True)))


def as_html(made: Page, rng: Random) -> None:
    made.write = html


def as_list_table(made: Page, rng: Random) -> None:
    made.write = list_table


def widen(made: Page, rng: Random) -> None:
    """One row a split, the models side by side: `7B MFU | 13B MFU`."""
    split = made.rows[0]
    for row in made.rows:
        row.update({name: split[name] for name in ("devices", "tp", "pp", "mbs", "gbs")})
    made.names = {name: word for name, word in made.names.items() if name != "memory"}
    made.write = wide


def markdown(grid: Sequence[Sequence[str]]) -> str:
    header, *body = (f"| {' | '.join(cells)} |" for cells in grid)
    return "\n".join([header, f"|{'---|' * len(grid[0])}", *body])


def html(grid: Sequence[Sequence[str]]) -> str:
    header, *body = grid
    lines = [
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>" for cells in (header, *body)
    ]
    return "\n".join(["<table>", *lines, "</table>"])


def list_table(grid: Sequence[Sequence[str]]) -> str:
    lines = [".. list-table:: Training runs", "   :header-rows: 1", ""]
    for cells in grid:
        lines += [f"   {'* -' if at == 0 else '  -'} {cell}" for at, cell in enumerate(cells)]
    return "\n".join(lines)


def wide(grid: Sequence[Sequence[str]]) -> str:
    header, *body = grid
    size = next(at for at, name in enumerate(header) if name in _NAMES["size"])
    measured = [at for at, name in enumerate(header) if _field(name) in _RESULTS]
    shared = [at for at in range(len(header)) if at not in (size, *measured)]
    heads = [f"{row[size]} {header[at]}" for row in body for at in measured]
    cells = [row[at] for row in body for at in measured]
    return markdown(
        [[*(header[at] for at in shared), *heads], [*(body[0][at] for at in shared), *cells]]
    )


def _field(heading: str) -> str | None:
    return next((name for name, words in _NAMES.items() if heading in words), None)


def text(made: Page) -> str:
    grid = [list(made.names.values())]
    grid += [[str(row[name]) for name in made.names] for row in made.rows]
    table = (made.write or markdown)(grid)
    parts = [*made.before, "## Training throughput\n", f"{made.lead}\n", table, "", *made.after]
    return "# Benchmarks of training\n\n" + "\n".join(parts) + "\n"


CHANGES = (rename, drop, add_columns, add_words, add_others, shuffle)
FORMS = (turn, as_html, as_list_table, widen)


def read(document: str) -> Iterator[dict[str, object]]:
    """The runs of a page as read: by size, what each states and measured."""
    found = read_markdown(document, "page")[0].by_table
    topology = {one["run_id"]: one for one in found["topology"]}
    for run in found["runs"]:
        results = [one for one in found["measurements"] if one["run_id"] == run["run_id"]]
        split = {
            name: topology[run["run_id"]].get(name)
            for name in ("devices", "tp", "pp", "mbs", "gbs")
        }
        measured = {str(one["metric"]): one["value"] for one in results}
        yield {
            "size": run["model"],
            "seq_len": run["seq_len"],
            "layers": run["layers"],
            **split,
            **measured,
        }


def wrong(made: Page) -> list[str]:
    """What was read and was not so."""
    wanted = {row["size"]: row for row in made.rows}
    found = []
    for run in read(text(made)):
        row = wanted.get(run["size"], {})
        for name, value in run.items():
            expected = {"seq_len": 2048, "layers": None}.get(name, row.get(name))
            if name == "mfu" and isinstance(expected, float):
                expected = pytest.approx(expected / 100)
            if value is not None and value != expected:
                found.append(f"{run['size']} {name}: {value}, not {expected}")
    return found


@pytest.mark.parametrize("seed", range(40))
def test_a_page_rewritten_gives_no_wrong_value(seed: int) -> None:
    rng = Random(seed)
    made = page(rng)
    for change in rng.sample(CHANGES, 4):
        change(made, rng)
    if seed % 5:
        FORMS[seed % 4](made, rng)
    assert wrong(made) == [], text(made)


@pytest.mark.parametrize(
    "form", [None, *FORMS], ids=lambda form: getattr(form, "__name__", "plain")
)
def test_no_value_is_lost_in_another_form(form: Callable[[Page, Random], None] | None) -> None:
    made = page(Random(1))
    if form:
        form(made, Random(1))
    runs = {run["size"]: run for run in read(text(made))}
    assert wrong(made) == []
    assert {
        size: len([v for v in run.values() if v is not None]) for size, run in runs.items()
    } == {row["size"]: len(made.names) + 1 for row in made.rows}
