"""Published documents changed as people change them, with the golden reading changed alike.

It knows nothing of the reader: the synonyms are headings of other projects'
tables, and what else a person would take for the same heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from random import Random

from tests.published import Document, Grid, Line, load
from tests.renumber import change_numbers
from tests.scoring import Golden

SYNONYMS: dict[str, tuple[str, ...]] = {
    "nodes": ("Nodes", "NNODES", "#Nodes", "# nodes", "Number of nodes", "Num nodes"),
    "gpus": ("GPUs", "#GPUs", "# GPUs", "Number of GPUs", "Num GPUs", "#-GPUs"),
    "size": ("Size", "MSize", "Model size", "Model", "Model Size"),
    "dp": ("DP", "DP size", "DP_SIZE", "Data parallel", "Data-parallel size"),
    "tp": ("TP", "MP", "TP size", "TP_SIZE", "Tensor parallel", "Tensor-parallel size"),
    "pp": ("PP", "PP size", "PP_SIZE", "Pipeline parallel", "Pipeline-parallel size"),
    "mbs": ("MBS", "Mic-BS", "Micro-BS", "Micro batch size", "MICRO_BATCH_SIZE", "MicroBatchSize"),
    "gbs": ("GBS", "BS", "Glob-BS", "Global batch size", "GLOBAL_BATCH_SIZE", "GlobalBatchSize"),
    "mem": ("Mem", "Memory", "GPU M", "GPU mem", "Mem/GPU", "GPU memory", "Max mem", "Peak memory"),
    "sec_per_it": (
        "Sec/it", "Speed", "Secs/it", "s/it", "Time per iteration", "Iteration time (s)",
        "Time (s)", "Step time", "Seconds per iteration", "Sec/iter", "Throughput", "Time (ms)",
    ),
    "tflops": ("TFLOPs", "TFlops", "TFLOPS", "TFLOPs*", "TFLOP/s"),
    "agg_pflops": ("Est. Aggr. PetaFLOPs", "Aggr. PetaFLOPs", "Aggregate PFLOP/s", "PetaFLOPs"),
    "notes": ("Notes", "Note", "Remarks", "Comments", "Comment"),
    "nhidden": ("NHIDDEN", "hidden-size", "Hidden size", "Hidden", "d_model"),
    "nheads": ("NHEADS", "num-attention-heads", "Attention heads", "Heads", "#heads"),
    "nlayers": ("Layers", "NLAYERS", "num-layers", "Number of layers", "#layers"),
    "zero_stage": ("ZS", "ZeRO", "ZeRO stage", "ZERO_STAGE", "ZeRO_STAGE"),
    "freq": ("Freq", "Frequency", "Clock", "CPU freq"),
    "async": ("async", "Async", "async launch", "asynchronous"),
}  # fmt: skip
_TIME = ("Throughput", "Time (ms)")  # headings that say nothing without a unit, or say another one
_BETWEEN = ("continued:", "the rest of it", "and the same on the next day", "More runs:")
_FORMS = ("header", "blank, header", "text, header", "blank")


def move_columns(document: Document, rng: Random) -> None:
    """The columns of every table in another order."""
    for grid in document.grids:
        order = list(range(len(grid.names)))
        while order == sorted(order):
            rng.shuffle(order)
        grid.names = [grid.names[place] for place in order]
        for line in grid.lines:
            cells = line.cells or []
            if line is grid.separator and len(cells) != len(order):
                continue  # a short one stays as it is
            cells += [""] * (len(order) - len(cells))
            line.cells = [cells[place] for place in order] + cells[len(order) :]


def rename_headings(document: Document, rng: Random) -> None:
    """Every heading by another synonym, some of them set in bold or as code."""
    for grid in document.grids:
        cells = grid.header.cells or []
        for place, name in enumerate(grid.names):
            old = cells[place]
            new = rng.choice([word for word in SYNONYMS[name] if word != old])
            if name == "sec_per_it" and new in _TIME:
                _print_times(grid, place, new, rng)
            cells[place] = rng.choice((new, new, new, f"**{new}**", f"`{new}`"))


def _print_times(grid: Grid, place: int, heading: str, rng: Random) -> None:
    unit = rng.choice(("s", " s", "ms"))
    for row in grid.rows:
        cells = row.line.cells or []
        found = re.match(r"\d+(?:\.\d+)?(?=[\^†]*$)", cells[place])
        if found:
            thousand = heading == "Time (ms)" or unit == "ms"
            number = str(Decimal(found[0]) * 1000) if thousand else found[0]
            cells[place] = (
                number + (unit if heading == "Throughput" else "") + cells[place][found.end() :]
            )


def split_tables(document: Document, rng: Random) -> None:
    """Tables in two: a header of its own for the second part, or a blank line inside the table."""
    for grid in list(document.grids):
        if len(grid.rows) < 2:
            continue
        row = rng.choice(grid.rows[1:])
        form = rng.choice(_FORMS)
        header = Line("", None, list(grid.header.cells or []))
        separator = Line("", None, list(grid.separator.cells or []))
        between = [Line("")] if form != "header" else []
        if form == "text, header":
            between += [Line(rng.choice(_BETWEEN)), Line("")]
        at = document.lines.index(row.line)
        if form == "blank":
            grid.pipes_needed = True
            document.lines[at:at] = between
            continue
        document.lines[at:at] = [*between, header, separator]
        cut, first = grid.body.index(row.line), grid.rows.index(row)
        document.grids.append(
            Grid(grid.id, list(grid.names), header, separator, grid.body[cut:], grid.rows[first:])
        )
        grid.body, grid.rows = grid.body[:cut], grid.rows[:first]


def vary_spaces(document: Document, rng: Random) -> None:
    """Padding, pipes at the ends, tabs, blank lines, blank rows, trailing spaces, line ends."""
    for grid in document.grids:
        outer = grid.pipes_needed or rng.random() < 0.5
        if rng.random() < 0.3:
            _add_filler(document, grid, rng)
        for line in grid.lines:
            line.text = _spaced(line.cells or [], outer, line is grid.separator, rng)
            line.cells = None
    tables = {line for grid in document.grids for line in grid.lines}
    document.lines = list(_blank_lines(document.lines, tables, rng))
    document.newline = rng.choice(("\n", "\r\n"))


def _add_filler(document: Document, grid: Grid, rng: Random) -> None:
    place = rng.randrange(1, len(grid.body) + 1)
    filler = Line("", None, [""] * len(grid.names))
    document.lines.insert(document.lines.index(grid.body[place - 1]) + 1, filler)
    grid.body.insert(place, filler)


def _spaced(cells: list[str], outer: bool, separator: bool, rng: Random) -> str:
    def pad() -> str:
        return rng.choice(("", " ", " ", "   ", "\t", " \t "))

    if separator:
        cells = [cell if len(cell) > 3 else cell.replace("-", "---", 1) for cell in cells]
    text = "|".join(f"{pad()}{cell}{pad()}" for cell in cells)
    # A first cell that is empty, or starts like a list, needs its pipe; so does an empty last one.
    if outer or not re.match(r"[A-Za-z0-9:]|---", cells[0]) or len(cells) < 2:
        text = f"|{text}"
    else:
        text = text.lstrip()
    if outer or not cells[-1] or rng.random() < 0.5:
        text = f"{text}|"
    return " " * rng.randrange(3) + text + rng.choice(("", "", " ", "  "))


def _blank_lines(lines: list[Line], tables: set[Line], rng: Random) -> Iterator[Line]:
    fenced = False
    last: Line | None = None
    for at, line in enumerate(lines):
        fenced ^= line.text.lstrip().startswith("```")
        blank = not line.text.strip() and line not in tables
        before = last.text if last else ""
        after = lines[at + 1] if at + 1 < len(lines) else None
        inside = last in tables and after in tables  # a blank line inside a table stays what it is
        if blank and not fenced and not inside:
            heading = before.startswith("#")
            for _ in range(rng.choice((0, 1, 2) if heading else (1, 1, 2, 3))):
                yield Line(rng.choice(("", "", "  ")))
        else:
            if not fenced and line not in tables and line.text and rng.random() < 0.2:
                line.text += rng.choice((" ", "\t"))
            yield line
        if not blank:
            last = line


Perturbation = Callable[[Document, Random], None]
KINDS: dict[str, tuple[Perturbation, ...]] = {
    "numbers": (change_numbers,),
    "columns": (move_columns,),
    "headings": (rename_headings,),
    "split": (split_tables,),
    "spaces": (vary_spaces,),
    "all": (change_numbers, move_columns, rename_headings, split_tables, vary_spaces),
}


def perturbed(golden: Golden, name: str, text: str, kind: str, seed: int) -> Document:
    """A document with one kind of change, the same for the same seed."""
    document = load(golden, name, text)
    rng = Random(f"{kind} {seed} {name}")
    for change in KINDS[kind]:
        change(document, rng)
    return document
