"""One row of a published table: its cells by column, and the facts of the text that apply to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ...vocabulary.cell import Cell
from ...vocabulary.cell_words import is_link
from ...vocabulary.device_names import counted_of, devices_in, is_machine, slice_of
from ...vocabulary.fields import stated_by
from ...vocabulary.hardware import device_pattern
from ...vocabulary.headings import Column
from ...vocabulary.parallelism import open_batch_in
from ...vocabulary.settings import Setting, clock_ghz, env_kind
from ...vocabulary.sizes import active_size, parse_size
from ..cast import LIMITS, integer
from .context import INTEGERS, dtype_of, formats_in, recipe_of
from .device_counts import counted
from .fact import Fact
from .framework_columns import is_of_authors
from .frameworks import model_apart, trainer_alone
from .row_words import is_shape, label_in, numbers_in_words
from .techniques import recompute_named

_WHOLE = {one.name: one.table for one in (*stated_by("row"), *stated_by("text")) if one.is_whole}
MODEL = tuple(name for name, table in _WHOLE.items() if table == "runs")
TOPOLOGY = tuple(name for name, table in _WHOLE.items() if table == "topology")
# Fields that text around a table may state; nodes, devices and DP are columns of the table.
FROM_TEXT = frozenset(field.name for field in stated_by("text"))
_BRACKETED = re.compile(  # nodes and devices of each: `(2x8)`, `(1x8*80G)`
    r"[(（]\s?(\d{1,4})\s?[x×*]\s?(\d{1,3})(?:\s?[x×*]\s?\d{2,3}\s?G(?:i?B)?)?\s?[)）]"
)
_YES_OR_NO = (0.0, 1.0)
_FEW_LETTERS = 40
_KIND = re.compile(r"(?:GPU|NPU|TPU|HPU|XPU)s?", re.I)  # of device, not which
_LABELS = ("size", "framework")
_BATCHES = frozenset(("gbs", "mbs", "device_batch"))


@dataclass(frozen=True, slots=True)
class RowContext:
    """The facts of the text around a table for one row; `numbers`: those that are integers."""

    facts: Mapping[str, Fact]
    numbers: Mapping[str, int]

    @classmethod
    def of(cls, facts: Mapping[str, Fact]) -> RowContext:
        read = {
            name: integer(fact.value)
            for name, fact in facts.items()
            if name in INTEGERS and fact.value
        }
        return cls(facts, {name: value for name, value in read.items() if isinstance(value, int)})


def cells_by_name(cells: Sequence[Cell], columns: Sequence[Column | None]) -> dict[str, Cell]:
    """The cells of a row by the names of their columns."""
    return {column.name: cell for cell, column in zip(cells, columns, strict=False) if column}


def numbers_of(by_name: Mapping[str, Cell]) -> dict[str, float]:
    """The whole numbers that the cells of a row state, by field; `size` in 1e9 parameters."""
    stated = {name: cell for name, cell in by_name.items() if name == "size" or name in _WHOLE}
    return {
        name: cell.value
        for name, cell in stated.items()
        if cell.value and cell.value > 0 and not cell.invalid
        and (name == "size" or cell.kind in ("number", "settings"))
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A row as read; `context` has only fields without a column in the table."""

    line: int
    cells: Sequence[Cell]
    by_name: Mapping[str, Cell]
    context: RowContext
    flags: Sequence[Setting] = ()  # of columns headed with the name of a variable
    words: str = ""  # the cells under unknown headings
    batch_is_open: bool = False  # a bare batch in its words may be of each device

    def integer(self, name: str) -> int | None:
        """A whole number from its cell, else from the text; None if damaged or missing."""
        cell = self.by_name.get(name)
        if cell is None:
            named = numbers_in_words(self._with_label())
            size = named.get(name)
            # `BS=4, GA=2` is a micro-batch.
            if name == "gbs" and not (size or "mbs" in named or _BATCHES & self.by_name.keys()):
                size = self._batch_of_all()
            return self.context.numbers.get(name) if size is None else size
        if cell.kind not in ("number", "settings") or cell.value is None or cell.invalid:
            return None
        if name == "dp_shard" and cell.value in _YES_OR_NO and not self._is_split_whole():
            return None  # under `FSDP` 1 and 0 may mean yes and no, and one shard means no sharding
        return int(cell.value)

    def _with_label(self) -> str:
        """The words of the row, and of its model and framework: `345m with zero3`, `FSDP2 TP8`."""
        labels = [cell.raw for name in _LABELS if (cell := self.by_name.get(name))]
        return "; ".join([*labels, self.words])

    def bare_batch(self) -> int | None:
        """A batch in the row's words that may be of a step or of each device."""
        return open_batch_in(self._with_label())

    def _batch_of_all(self) -> int | None:
        """A batch in the row's words, unless its replicas have less than one sequence each."""
        batch, devices = self.bare_batch(), self.devices() or 1
        if self.batch_is_open and devices > 1:
            return None
        split = prod(self.integer(name) or 1 for name in ("tp", "pp", "cp"))
        return batch if batch and batch * split >= devices else None

    def devices(self) -> int | None:
        """Devices as stated, else those of slices by the name of the device: 64 for `v5p-128`, 128
        for `2x v5p-128`."""
        if not {"devices", "nodes", "ranks"}.isdisjoint(self.by_name):
            return self.integer("devices")
        word = self.word("device") or ""
        count, part = counted_of(word), slice_of(word)
        if count:
            each = devices_in(count[1]) or 0 if is_machine(count[1]) else 1
            return count[0] * each or None
        if part:
            return part[1] or None
        own = self._counted("devices")
        # A count in the text is of all rows, and a row that counts nodes differs from the others.
        return own or (None if self._counted("nodes") else self.integer("devices"))

    def nodes(self) -> int | None:
        """Nodes as stated, else the machines that the device's cell counts."""
        count = counted_of(self.word("device") or "") if "nodes" not in self.by_name else None
        if count and is_machine(count[1]):
            return count[0] or None
        own = None if {"nodes", "ranks"} & self.by_name.keys() else self._counted("nodes")
        return own or self.integer("nodes")

    def device(self) -> str | None:
        """The device as written, without the count before it; words of the row go before the
        text."""
        counts = self.by_name.get("devices")  # `8× H100`
        words = "; ".join((self.words, self._remark(), counts.raw if counts else ""))
        named = {match[0].strip("() ") for match in device_pattern().finditer(words)}
        word = (self.word("device") or "").strip("*_` ")
        if len(named) == 1 and ("device" not in self.by_name or _KIND.fullmatch(word)):
            return named.pop()
        count = counted_of(word)
        return count[1] if count else None if is_of_authors(word) else word or None

    def device_batch(self) -> float | None:
        """Sequences of a step for one device; below 1 where several devices share one."""
        cell = self.by_name.get("device_batch")
        if cell is None or cell.kind not in ("number", "settings") or cell.invalid:
            return None
        return cell.value

    def word(self, name: str) -> str | None:
        """A text from its cell, else from the text of the document."""
        cell = self.by_name.get(name)
        if cell is None:
            return self._from_text(name)
        return None if cell.kind == "missing" or cell.raw in ("-", "") else cell.raw

    def dtype(self) -> str | None:
        """The number format that a cell names (`amp_bf16`, `FP8-CS (FP8-MX)`), else its words."""
        label = self.by_name.get("size")
        recipe = self.by_name.get("recipe")
        own = "" if "dtype" in self.by_name else f"{self.words}; {recipe.raw if recipe else ''}"
        named = dtype_of(own)
        if named is None and formats_in(own):
            return None  # several formats; the text does not state which
        if named is None and label and "dtype" not in self.by_name:
            named = dtype_of(label.raw)
        word = named or self.word("dtype")
        return (dtype_of(word) or word) if word else None

    def recipe(self) -> str | None:
        """The recipe of a narrow number format, from its cell or within others."""
        cells = (self.by_name.get(name) for name in ("recipe", "dtype"))
        named = [recipe_of(cell.raw) for cell in cells if cell]
        own = self.word("recipe") if "recipe" in self.by_name else None
        own = None if own and is_link(own) else own  # `[Link](https://...)` is no recipe
        return own or next(filter(None, named), None) or recipe_of(self.words)

    def active_b(self) -> float | None:
        """Parameters in 1e9 that a token uses: from their column, or from a label (`30B-A3B`)."""
        cell = self.by_name.get("active_b")
        return cell.value if cell else active_size(self.model() or "")

    def model(self) -> str | None:
        """The size or model label as written."""
        cell = self.by_name.get("size")
        if cell is None:
            return label_in(self.words) or self.word("size")
        if cell.value is None and is_shape(cell.text or ""):
            return None
        return model_apart(cell.text.replace("**", ""))[0] if cell.text else cell.text

    def framework(self) -> str | None:
        """From its column, else from the label of the model, else from the text."""
        label = None if "framework" in self.by_name else self.by_name.get("size")
        own = model_apart(label.text or "")[1] if label else None
        alone = {name for part in self.words.split("; ") if (name := trainer_alone(part))}
        own = own or (alone.pop() if len(alone) == 1 else None)
        named = own or (self.word("framework") or "").strip("*_` ") or None
        return None if named is None or is_of_authors(named) else named

    def params_b(self) -> float | None:
        """Parameters in 1e9 of the label's cell, else as a formula near the table states them."""
        cell = self.by_name.get("size")
        if cell is not None:
            return cell.value or self._params_labelled()
        if label := label_in(self.words):
            return parse_size(label)
        stated = self._from_text("params_b")
        return None if stated is None else float(stated)

    def _params_labelled(self) -> float | None:
        """Parameters in 1e9 as a column besides a name states them: `pilot | 11.5M`."""
        cell = self.by_name.get("params")
        return parse_size(cell.text or "") if cell else None

    def params_stated(self) -> int | None:
        """Parameters as stated in a column besides the label of the model."""
        cell = self.by_name.get("params")
        if cell is None or cell.value is None or cell.value * 1e9 >= LIMITS["bigint"]:
            return None
        return round(cell.value * 1e9)

    def recompute(self) -> str | None:
        """none, selective or full."""
        cell = self.by_name.get("recompute")
        if cell is None:
            return recompute_named(self.words) or self.word("recompute")
        if cell.kind != "flag":
            return recompute_named(cell.raw, of_column=True)
        return "selective" if cell.value is None else "full" if cell.value else "none"

    def flag(self, name: str) -> bool | None:
        """A yes or no."""
        cell = self.by_name.get(name)
        return None if cell is None or cell.value is None else bool(cell.value)

    def date(self) -> str | None:
        """The date of its column, else the first in the notes."""
        return next((day for name in ("date", "notes") for day in self._pieces(name, "date")), None)

    def job_ids(self) -> list[str]:
        """The job ids in the notes."""
        return self._pieces("notes", "job")

    def notes(self) -> str | None:
        """The remark of the row."""
        notes = self.by_name.get("notes")
        return notes.raw if notes and notes.raw and notes.kind != "missing" else None

    def procs_per_node(self) -> int | None:
        """Processes per node, if a setting in a cell states them."""
        values = [s.value for s in self.settings() if s.name == "procs_per_node" and s.value]
        return int(values[0]) if values and values[0].isdigit() else None

    def settings(self) -> Iterator[Setting]:
        """Settings written inside cells, and the columns of clocks and variables."""
        yield from self.flags
        for cell in self.cells:
            yield from cell.settings
        freq = self.by_name.get("freq")
        if freq and freq.value is not None:
            yield Setting("clock_ghz", clock_ghz(f"{freq.value:g}{freq.unit or 'GHz'}"), "clock")

    def env(self, facts: Sequence[Fact]) -> dict[str, tuple[str | None, str, int]]:
        """Value, kind and line of each environment flag; cells go before the text."""
        flags = {
            fact.field[4:]: (fact.value, env_kind(fact.field[4:]), fact.line)
            for fact in facts
            if fact.field.startswith("env:")
        }
        own = (setting for setting in self.settings() if setting.kind != "topology")
        return flags | {s.name: (s.value, s.kind, self.line) for s in own}

    def _is_split_whole(self) -> bool:
        """Whether TP, PP and CP use all devices, so that there is one data-parallel shard."""
        sizes = [self.integer(name) for name in ("tp", "pp", "cp") if name in self.by_name]
        return bool(sizes) and None not in sizes and self.devices() == prod(filter(None, sizes))

    def _pieces(self, name: str, kind: str) -> list[str]:
        cell = self.by_name.get(name)
        return [piece[1] for piece in (cell.pieces if cell else ()) if piece[0] == kind]

    def _counted(self, name: str) -> int | None:
        """The count of devices or nodes in the row's words: `64× A100`, `5 nodes`."""
        adjacent = [self.by_name[at].raw for at in ("size", "devices") if at in self.by_name]
        words = " | ".join([self.words, *adjacent, self._remark()])
        found = {fact.value for fact in counted(words, self.line) if fact.field == name}
        if square := self._square(words):
            return square[0] if name == "nodes" else square[0] * square[1]
        return int(found.pop() or 0) if len(found) == 1 else None

    def _remark(self) -> str:
        """The beginning of the notes, which may say where the row ran: `Single node (8×H800)`."""
        notes = self.by_name.get("notes")
        first = re.split(r"[;,.]\s", notes.raw)[0] if notes else ""
        return first if len(first) <= _FEW_LETTERS and "multi" not in first.lower() else ""

    def _square(self, words: str) -> tuple[int, int] | None:
        """Nodes and devices per node in brackets, if the row confirms them: `H100 (4x8)`."""
        match = _BRACKETED.search(words)
        if match is None:
            return None
        nodes, each = int(match[1]), int(match[2])
        sizes = [self.integer(size) for size in ("dp", "tp", "pp")]
        if None not in sizes:
            split = prod(filter(None, sizes)) * (self.integer("cp") or 1)
            return (nodes, each) if split == nodes * each else None
        total = re.search(rf"(?<!\d){nodes * each}\s?(?:卡|GPUs?|cards?)", words, re.I)
        return (nodes, each) if total else None

    def _from_text(self, name: str) -> str | None:
        fact = self.context.facts.get(name)
        return fact.value if fact else None
