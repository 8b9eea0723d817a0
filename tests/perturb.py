"""Published documents changed as people change them, with the golden reading changed alike.

It knows nothing of the reader: rows are split here, and the synonyms are those that physics.md 5
and formats.md 12 list, with what else a person would take for the same heading.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any

from tests.scoring import Expected, Golden, as_reported

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
        "Sec/it",
        "Speed",
        "Secs/it",
        "s/it",
        "Time per iteration",
        "Iteration time (s)",
        "Time (s)",
        "Step time",
        "Seconds per iteration",
        "Sec/iter",
        "Throughput",
        "Time (ms)",
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
}
_TIME = ("Throughput", "Time (ms)")  # headings that say nothing without a unit, or say another one
_BETWEEN = ("continued:", "the rest of it", "and the same on the next day", "More runs:")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_FORMS = ("header", "blank, header", "text, header", "blank")


@dataclass(slots=True, eq=False)
class Line:
    """A line; `number` is that of the original document, None for one that was put in."""

    text: str
    number: int | None = None
    cells: list[str] | None = None

    def render(self) -> str:
        return self.text if self.cells is None else f"| {' | '.join(self.cells)} |"


@dataclass(slots=True, eq=False)
class Row:
    """A golden row at its line."""

    line: Line
    values: dict[str, Any]  # JSON values
    classes: dict[str, str]


@dataclass(slots=True, eq=False)
class Grid:
    """A table: golden names of its columns, and its lines."""

    id: str
    names: list[str]
    header: Line
    separator: Line
    body: list[Line]
    rows: list[Row]
    pipes_needed: bool = False

    @property
    def lines(self) -> Iterator[Line]:
        yield from (self.header, self.separator, *self.body)

    def place(self, name: str) -> int | None:
        return self.names.index(name) if name in self.names else None


@dataclass(slots=True)
class Document:
    """A document and what a careful reader finds in it."""

    name: str
    lines: list[Line]
    grids: list[Grid]
    newline: str = "\n"
    _places: dict[int, int] = field(default_factory=dict)

    def text(self) -> str:
        return self.newline.join(line.render() for line in self.lines) + self.newline

    def expected(self) -> list[Expected]:
        places = {line: at for at, line in enumerate(self.lines, 1)}
        numbers = {line.number: at for line, at in places.items() if line.number}
        rows = []
        for grid in self.grids:
            for row in grid.rows:
                values = copy.deepcopy(row.values)
                for note in values["footnotes"]:
                    note["legend_line"] = numbers.get(note["legend_line"])
                rows.append(Expected(self.name[:3], places[row.line], grid.id, values, row.classes))
        return rows


def load(golden: Golden, name: str, text: str) -> Document:
    """A document with its golden reading."""
    lines = [
        Line(line, number) for number, line in enumerate(text.removesuffix("\n").split("\n"), 1)
    ]
    grids = []
    for table in golden["tables"]:
        rows = [
            Row(
                lines[row["line"] - 1],
                {**row["record"], **as_reported(row)},
                dict(row["field_class"]),
            )
            for row in copy.deepcopy(table["rows"])
        ]
        numbers = sorted([row["line"] for row in table["rows"]] + table["filler_lines"])
        header, separator = lines[table["header_line"] - 1], lines[table["separator_line"] - 1]
        body = [lines[number - 1] for number in numbers]
        grid = Grid(
            table["table_id"], list(table["canonical_columns"]), header, separator, body, rows
        )
        for line in grid.lines:
            line.cells = _split(line.text)
        grids.append(grid)
    return Document(name, lines, grids)


def _split(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip().removeprefix("|").removesuffix("|").split("|")]


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


def change_numbers(document: Document, rng: Random) -> None:
    """Other numbers in cells, headings, configuration lines and commands."""
    change = _Numbers(document, rng)
    for line in document.lines:
        if line.cells is None:
            line.text = change.context(line.text)
    for grid in document.grids:
        change.grid(grid)


class _Numbers:
    """One new value for each old one of a document, where several places must agree."""

    def __init__(self, document: Document, rng: Random) -> None:
        self.rng = rng
        self.known: dict[tuple[str, str], str] = {}
        self.per_node = "8" if document.name.startswith("002") else "4"
        self.new_per_node = rng.choice(("2", "4") if self.per_node == "8" else ("2", "6", "8"))
        self.allocator = rng.choice(("libjemalloc.so", "libmimalloc.so.2"))

    def of(self, kind: str, old: str, choices: Iterable[str] | None = None) -> str:
        """The new value of an old one, another for each."""
        if (kind, old) not in self.known:
            taken = {new for (of, _), new in self.known.items() if of == kind}
            new = old
            while new == old or new in taken:
                new = self.rng.choice(list(choices)) if choices else self.fresh(old)
            self.known[kind, old] = new
        return self.known[kind, old]

    def fresh(self, text: str) -> str:
        """Another number of the same form."""
        whole, point, rest = text.partition(".")
        digits = max(1, len(whole) + self.rng.choice((-1, 0, 0, 0, 1)))
        value = self.rng.randint(10 ** (digits - 1), 10**digits - 1)
        return str(value) + point + "".join(self.rng.choice("0123456789") for _ in rest)

    def context(self, text: str) -> str:
        """A line outside tables."""
        for kind, pattern in _CONTEXT:
            text = re.sub(pattern, partial(self.stated, kind), text)
        text = re.sub(r"(--gres=gpu:|nodes of )(?:\d+)", rf"\g<1>{self.new_per_node}", text)
        text = re.sub(r"^(### )(fp16|bf16)$", lambda m: m[1] + _SWAP[m[2]], text)
        text = re.sub(r"(?i)[av](?=100)", lambda m: _DEVICE[m[0]], text)
        text = re.sub(_SIZE, lambda m: self.size(m[0]), text)
        return text.replace("libtcmalloc.so", self.allocator)

    def stated(self, kind: str, found: re.Match[str]) -> str:
        """A name and its new value."""
        return f"{found[1]}{self.value(kind, found[2])}"

    def value(self, kind: str, old: str) -> str:
        if kind == "seq_len":
            return self.of(kind, old, ("512", "1536", "3072", "4096", "8192", "640"))
        if kind == "framework":
            return self.of(kind, old, ("1.8", "1.13", "2.0", "2.4"))
        return self.of(kind, old)

    def size(self, label: str) -> str:
        """Another size label, the same for the same parameters."""
        letter = "B" if "B" in label else "M"
        number, _, rest = label.partition(letter)
        if rest:
            return self.of("params", f"{number}.{rest}").replace(".", letter)
        return self.of("params", number) + letter

    def grid(self, grid: Grid) -> None:
        factor = {name: self.rng.choice((1, 2, 3)) for name in ("dp", "tp", "pp")}
        scale = factor["dp"] * factor["tp"] * factor["pp"]
        factor |= {"nodes": scale, "gpus": scale}
        for row in grid.rows:
            cells = row.line.cells or []
            for at, name in enumerate(grid.names):
                if name in factor:
                    cells[at] = _times(cells[at], factor[name])
                    row.values[name] = _first(cells[at])
                else:
                    cells[at] = self.cell(name, cells[at], row.values)
            if (nodes := grid.place("nodes")) is not None:
                cells[nodes] = self.settings(cells[nodes], row.values)
            self.around(grid, row)

    def cell(self, name: str, text: str, values: dict[str, Any]) -> str:
        """A cell's new text; its value goes where the golden reading has it."""
        if name == "notes":
            return self.notes(text, values)
        if name == "async":
            values["async_launch"] = text != "yes"
            return {"yes": "no", "no": "yes"}[text]
        if name == "size":
            new = self.size(text)
            scale = Decimal("0.001") if new.endswith("M") else 1
            values["size"], values["params_b"] = new, float(Decimal(new[:-1]) * scale)
            return new
        found = _NUMBER.match(text)
        if not found or (name == "sec_per_it" and "MiB" in text):
            return text
        number = found[0]
        if name in ("nhidden", "nheads", "nlayers"):
            new = self.of(name, number)
        elif name == "freq":
            new = self.of("freq", number, ("1.6", "1.8", "2.4"))
            values["freq_ghz"] = float(new)
        else:
            new = self.fresh(number) if name != "zero_stage" else str(int(number) + 2)
        field = {"mem": "mem_value"}.get(name, name)
        if field in values:
            values[field] = float(new) if "." in new or name == "mem" else int(new)
        return new + text[found.end() :]

    def notes(self, text: str, values: dict[str, Any]) -> str:
        def new(found: re.Match[str]) -> str:
            if found["job"]:
                return f"{self.rng.randint(10**7, 10**8 - 1)}"
            if found["mem"]:
                return self.fresh(found["mem"])
            return f"{self.rng.randint(1, 12):02}-{self.rng.randint(1, 28):02}"

        text = re.sub(r"(?P<job>\b\d{8}\b)|(?P<mem>\d+)(?=GB)|(?P<date>\b\d\d-\d\d\b)", new, text)
        if date := re.search(r"\b\d\d-\d\d\b", text):
            values["date"] = date[0]
        values["job_ids"] = re.findall(r"\b\d{8}\b", text)
        if memory := re.match(r"(\d+)GB", text):
            values["mem_value"] = float(memory[1])
        values["notes"] = text
        return text

    def settings(self, text: str, values: dict[str, Any]) -> str:
        """What stands in parentheses behind the number of nodes."""
        clock = re.search(r"(\d\.\d)Hz", text)
        if clock:
            new = self.of("freq", clock[1], ("1.6", "1.8", "2.4"))
            text = text.replace(clock[0], f"{new}Hz")
            values["freq_ghz"] = float(new)
        if "max-proc-per-node=" in text:
            values["procs_per_node"] = self.rng.choice((2, 8, 12))
            text = re.sub(r"(max-proc-per-node=)\d+", rf"\g<1>{values['procs_per_node']}", text)
        if "retention_state=0" in text:
            text = text.replace("retention_state=0", "retention_state=1")
            values["env"] = {**values["env"], "retention_state": "1"}
        return text.replace("libtcmalloc.so", self.allocator)

    def around(self, grid: Grid, row: Row) -> None:
        """What the row has from headings and lines around it, and what follows from its cells."""
        values = row.values
        for kind in ("seq_len", "nlayers", "nhidden", "nheads", "gbs"):
            if values[kind] is not None and kind not in grid.names:
                values[kind] = int(self.value(kind, str(values[kind])))
        if values["framework"]:
            values["framework"] = (
                f"PyTorch {self.value('framework', values['framework'].split()[1])}"
            )
        if values["size"] is not None and "size" not in grid.names:
            values["size"] = self.size(values["size"])
            values["params_b"] = float(re.sub("B(?=.)", ".", values["size"]).strip("B"))
        if values["dtype"]:
            values["dtype"] = _SWAP[values["dtype"]]
        if values["device"]:
            values["device"] = _DEVICE[values["device"][0]] + values["device"][1:]
        if values["env"].get("LD_PRELOAD"):
            values["env"] = {**values["env"], "LD_PRELOAD": self.allocator}
        _count(values, row.classes, int(self.new_per_node))


_CONTEXT = (
    ("seq_len", r"(Sequence Length=|SEQ_LEN=|\$seqlen=)(\d+)"),
    ("nlayers", r"(NLAYERS=|--num-layers )(\d+)"),
    ("nhidden", r"(NHIDDEN=|--hidden-size )(\d+)"),
    ("nheads", r"(NHEADS=|--num-attention-heads )(\d+)"),
    ("gbs", r"(GBS=|\$gbs=)(\d+)"),
    ("params", r"(\$ms=)([\d.]+)"),
    ("framework", r"(PyTorch )(\d+\.\d+)"),
)
_SIZE = r"(?<![\w.])\d+(?:\.\d+)?[BM](?![A-Za-z0-9])|1B3"
_SWAP = {"fp16": "bf16", "bf16": "fp16"}
_DEVICE = {"A": "H", "a": "h", "V": "A", "v": "a"}


def _times(text: str, factor: int) -> str:
    return _NUMBER.sub(lambda found: str(int(found[0]) * factor), text, count=1)


def _first(text: str) -> int | None:
    found = _NUMBER.search(text)
    return int(found[0]) if found else None


def _count(values: dict[str, Any], classes: dict[str, str], per_node: int) -> None:
    """World size, GPUs and nodes, where they are derived."""
    if classes.get("nodes") == "derived":
        values["nodes"] = values["gpus"] // per_node if values["gpus"] % per_node == 0 else None
    if classes.get("gpus") == "derived":
        values["gpus"] = values["nodes"] * per_node
    if classes.get("gpus"):
        values["world_size"] = values["gpus"]
    else:
        values["world_size"] = values["nodes"] * (values["procs_per_node"] or 1)


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
