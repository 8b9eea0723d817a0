"""Other numbers in a published document, and in its golden reading alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any

from tests.published import Document, Grid, Row

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


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
