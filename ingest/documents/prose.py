"""Facts that sentences mention: settings, counts of devices, the model that a heading names.

A sentence mentions more than its runs had (`from 8 GPUs to 1024 GPUs`), so the tables of a section
inherit only the fields to which its prose gives a single value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...vocabulary.cells import parse_cell
from ...vocabulary.hardware import device_pattern
from ...vocabulary.headings import Column, column_of
from ...vocabulary.sizes import find_size
from .context import devices_named, dtype_of, phrases_in, setting_field, typed_facts
from .device_counts import UNITS, counted
from .fact import Fact
from .frameworks import frameworks_in
from .grid import Table
from .setting_phrases import in_series

_PAIR = re.compile(
    r"(?<![\w.-])(?<!batch )(?P<key>[A-Za-z_-]{2,30})\s?="
    r"\s?(?P<value>\w[\w.]{0,19}(?<!\.))(?![\w=*/+(])"
)
_PAIR_OF_CELLS = 2
_NO_VALUE = re.compile(r"\b(?:defaults?|types?|required|range|options|choices)\b|默认|类型", re.I)
_REMARK = re.compile(
    r"\W*(?:notes?|remarks?|comments?|descriptions?|explanations?|meaning|details|备注|(?:特殊)?说明|描述|注释)\W*",
    re.I,
)
# The heading of a column of names, which is no name itself: `Parameter | Value`.
_NAMES = re.compile(
    r"\W*(?:parameters?|params?|settings?|options?|items?|keys?|names?|fields?|propert(?:y|ies)|hyper-?parameters?"
    r"|参数|名称|项目|配置项?|指标|设置|超参数?|属性)\W*",
    re.I,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_OF_ALL = re.compile(
    r"\W{0,4}all\s+(?:(?:of\s+)?(?:the|these|our|below)\s+)?(?:\w+\s+)?"
    r"(?:experiments|runs|results|benchmarks|measurements|models|numbers|trainings)\s+(?:\w+\s+)?"
    r"(?:are|were|was|is|use[ds]?|have|had|ran)\b",
    re.I,
)
_ALL_ARE = re.compile(
    r"\b(?:devices|GPUs|accelerators|cards)\s+(?:\w+\s+)?(?:are|were)\s+all\b"
    r"|\ball\s+(?:of\s+)?(?:the\s+|our\s+)?(?:\w+\s+)?(?:devices|GPUs|accelerators|cards)\s+(?:are|were)\b",
    re.I,
)
_SET = ("topology", "batch", "model", "setting")
_LETTERS = re.compile(
    r"(?<![\w.-])(?!FSDP[12]\b)(?P<key>[A-Z]{2,4}) ?(?P<value>\d{1,6})(?![\w.%-]|/\d)"
)
# On one device a batch is a micro-batch, unless several are accumulated.
_BATCH = re.compile(
    r"(?P<of>[a-z]+[ _-]+)?batch[ _-]?size\s*(?:=|:|of|is)?\s*"
    r"(?P<value>\d{1,5})(?![\w.%,]*\d|\s*[kKM×x]\b)",
    re.I,
)
_OTHER_BATCH = re.compile(
    r"(?:global|total|effective|mini|eval\w*|test|valid\w*|token)[ _-]+", re.I
)
_ONE_DEVICE = re.compile(
    r"(?<![a-z])(?:single|one)[ _-]{1,2}(?:device|gpu|npu|accelerator|card)(?![a-z])|单卡"
    r"|(?<![\w.])1\s?[x×]?\s?gpu\b",
    re.I,
)
_SEVERAL = re.compile(
    rf"(?<![\w.])(?!1\s)\d{{1,6}}\s?[x×]?\s*{UNITS}(?!\w)|\b(?:multi|several)\b", re.I
)
_ACCUMULATES = re.compile(r"(?<!no )(?<!without )(?:gradient|grad)[ _-]acc", re.I)
_NAMED = re.compile(r"^\s*(?:model|模型)\s*[:：]\s*(?P<name>\S.{0,60})$", re.I)
_PROCESSOR = re.compile(
    r"\W*CPU(?:[- ]only)?(?: (?:runs?|results?|training|benchmarks?))?\W*", re.I
)
# `Qwen3-0.6B`, `INTELLECT-3`: a word of letters and digits
_NAME = re.compile(r"^(?=[^\d]*[A-Za-z]{2})(?=.*\d)[A-Za-z][\w.]*(?:-[\w.]+){1,6}$")
_NO_NAME = re.compile(
    r"^(?:zero|v|phase|part|step|table|exp\w*|run|stage|case|fp|bf|tf|int|mx|nv)-?\w{0,4}\b", re.I
)
_INHERITED = frozenset(
    re.findall(
        r"\w+",
        "size seq_len dtype zero_stage recompute mbs gbs tp pp cp ep vpp devices layers hidden"
        " heads vocab framework nodes grad_accum dp dp_shard dp_replicate kv_heads ffn_hidden",
    )
)
# Sentences also name it for reductions and master weights.
_OF_SUMS = frozenset({"fp32"})


def prose_facts(text: str, line: int) -> list[Fact]:
    """The facts that a line of prose mentions; several values of a field all count."""
    facts = [fact for fact in lead_facts(text, line) if fact.field in _INHERITED]
    return [replace(fact, group=line) for fact in facts if fact.value not in _OF_SUMS]


def of_all_runs(text: str) -> str:
    """The sentences of a text about all runs: `All experiments were run in bf16.`"""
    return " ".join(part for part in _SENTENCE_END.split(text) if _OF_ALL.match(part))


def device_of_all(text: str, line: int) -> list[Fact]:
    """The device that a sentence names for all devices: `The GPUs are all A100-SXM4-40GB.`"""
    named = [fact for part in _SENTENCE_END.split(text) if _ALL_ARE.search(part)
             for fact in devices_named(part, line)]  # fmt: skip
    return [replace(one, of_all_rows=True) for one in named] if len(named) == 1 else []


def lead_facts(text: str, line: int) -> list[Fact]:
    """The facts that the paragraph right above a table states for it."""
    text = text.replace("**", "")  # `Precision=**bf16**`
    facts = phrases_in(text, line, "line")
    fields = {fact.field for fact in facts}
    more = [*_assigned(text, line), *_batch_of_one(text, line), *unambiguous(counted(text, line))]
    facts += [fact for fact in unambiguous(more) if fact.field not in fields]
    splits = _SPLITS.findall(text)
    if len(splits) > len(set(splits)) and len(set(_MODELS.findall(text))) > 1:
        # Of two models with a split each none is of both: `7B with PP8 and 235B with PP4 EP8`.
        return [fact for fact in facts if fact.field not in _BY_SPLIT]
    return facts


_SPLITS = re.compile(r"(?<![A-Za-z0-9])([TPCDE]P) ?=? ?\d{1,4}(?!\w)")
_MODELS = re.compile(
    r"(?<![\w.])[A-Za-z][\w.]{1,20}-(?:[A-Za-z]{1,10}-)?(\d{1,4}(?:\.\d)?[BM])(?!\w)"
)
_BY_SPLIT = frozenset(("tp", "pp", "cp", "ep", "dp"))
# One of several settings in a cell.
_OF_MODELS = frozenset(("layers", "hidden", "heads", "kv_heads", "ffn_hidden", "vocab"))
_SETTING = re.compile(r"[\s`*]*[A-Za-z][\w.-]{0,40}\s?=\s?[\w.]{1,20}[\s`*]*")


def set_up(table: Table) -> list[Fact]:
    """The settings of a table of names and values (`micro_bsz | 1`), else nothing.

    A column of remarks may follow. Of several configurations side by side it is what all share.
    """
    table = _shared(table)
    _, value, *remarks = (*table.header.cells, "", "")[: max(2, len(table.header.cells))]
    if not all(map(_REMARK.fullmatch, remarks)) or _NO_VALUE.search(value):
        return []
    facts: list[Fact] = []
    headed = _NAMES.fullmatch(table.header.cells[0]) is not None
    for row in (*(() if headed else (table.header,)), *table.rows):
        name, value = (*row.cells, "", "")[:_PAIR_OF_CELLS]
        column = column_of(name)
        open_to = column is None or column.role == "batch"
        if open_to and all(map(_SETTING.fullmatch, re.split("[,;]", value))):
            facts += _assigned(value, row.line)  # `shape | hidden=768, layers=12`
            continue
        if column is None or column.role not in _SET or not value:
            continue
        if described := list(_described(column, name, value, row.line)):
            facts += described
            continue
        cell = parse_cell(value, column)
        text = f"{cell.value:.0f}" if cell.kind == "number" and cell.value else _word(column, value)
        if text and not cell.invalid:
            facts.append(Fact(column.name, text, f"{name}: {value}", row.line, "line"))
    return [replace(fact, group=table.header.line) for fact in unambiguous(facts)]


def _shared(table: Table) -> Table:
    """Of a table of configurations side by side the rows in which all of them agree."""
    name, *others = table.header.cells
    if (
        len(others) < _PAIR_OF_CELLS
        or not _NAMES.fullmatch(name)
        or any(map(_REMARK.fullmatch, others))
    ):
        return table
    rows = [row for row in table.rows if len(row.cells) > _PAIR_OF_CELLS]
    same = tuple(
        replace(row, cells=row.cells[:_PAIR_OF_CELLS])
        for row in rows
        if len(row.cells) == len(table.header.cells) and len(set(row.cells[1:])) == 1
    )
    return replace(table, header=replace(table.header, cells=(name, "all")), rows=same)


def _described(column: Column, name: str, value: str, line: int) -> Iterator[Fact]:
    """What a cell says of a model or a device in brackets: `H800 × 32 (4 nodes × 8 GPUs)`."""
    raw = f"{name}: {value}"
    before, bracket, _ = value.partition("(")
    if not bracket:
        return
    if column.name == "device":
        named = [fact for fact in devices_named(value, line) if fact.field == "device"]
        if len(named) > 1:  # `TPU v7 (Ironwood)` is one device of two names
            named = devices_named(before, line) or named
        yield from (replace(fact, raw=raw) for fact in named)
        yield from (replace(fact, raw=raw) for fact in unambiguous(counted(value, line)))
    elif column.name == "size" and find_size(before):
        yield Fact("size", before.strip(), raw, line, "line")
        shape = (*phrases_in(value, line, "line"), *_assigned(value, line))
        inside = {fact.field: fact for fact in shape if fact.field in _OF_MODELS}
        yield from (replace(fact, raw=raw) for fact in inside.values())


def _word(column: Column, value: str) -> str | None:
    """A setting in words: a device, a framework, a number format, whether there is recompute."""
    if column.name == "dtype":
        return dtype_of(value)
    if column.name == "recompute":
        cell = parse_cell(value, column)
        return None if cell.value is None else "full" if cell.value else "none"
    if column.name == "framework":
        name = value.partition("(")[0].strip()
        return name if len(frameworks_in(name)) == 1 else None
    known = column.name == "size" or (column.name == "device" and device_pattern().search(value))
    return value if known else None


def _batch_of_one(text: str, line: int) -> Iterator[Fact]:
    """The micro-batch: in a text about runs on one device, the batch size."""
    counts = {fact.value for fact in counted(text, line) if fact.field == "devices"}
    one = counts == {"1"} or (not counts and _ONE_DEVICE.search(text))
    if not one or _SEVERAL.search(text) or _ACCUMULATES.search(text):
        return
    for match in _BATCH.finditer(text):
        if not in_series(text, match.end()) and not _OTHER_BATCH.fullmatch(match["of"] or ""):
            yield Fact("mbs", match["value"], text.strip(), line, "line")


def model_named(heading: str, line: int) -> list[Fact]:
    """The model that a heading names: `Model: DeepSeekV3`, `Qwen3-0.6B`."""
    labelled = _NAMED.match(heading)
    name = labelled["name"].strip() if labelled else heading.strip(" `*")
    known = labelled or (
        _NAME.match(name)
        and not _NO_NAME.match(name)
        and not device_pattern().search(name)
        and dtype_of(name) is None
        and not frameworks_in(name)
    )
    return [Fact("size", name, heading.strip(), line, "heading")] if known else []


def processor_of_heading(text: str, line: int) -> list[Fact]:
    """The processor as the device of runs below a heading that names nothing else: `## CPU`."""
    named = _PROCESSOR.fullmatch(text)
    return [Fact("device", "CPU", text.strip(), line, "heading")] if named else []


def sizes_named(text: str, line: int) -> list[Fact]:
    """Settings that a heading names by their letters: `Single node, EP8 (GBS 128)`."""
    facts: list[Fact] = []
    for match in _LETTERS.finditer(text):
        field = setting_field(match["key"])
        facts += typed_facts(field, match["value"], text, line) or [] if field else []
    return [replace(fact, scope="heading") for fact in unambiguous(facts)]


def unambiguous(facts: Iterable[Fact]) -> list[Fact]:
    """The facts of the fields with a single value."""
    every = list(facts)
    values: dict[tuple[str, str | None], set[str | None]] = {}
    for fact in every:
        values.setdefault((fact.field, fact.only_named), set()).add(_plain(fact))
    kept = [
        fact
        for fact in every
        if len(values[fact.field, fact.only_named]) == 1 and fact.value is not None
    ]
    by_field: dict[str, set[str | None]] = {}
    for (field, _), found in values.items():
        by_field.setdefault(field, set()).update(found)
    return [
        replace(one, only_there=True) if one.only_named and len(by_field[one.field]) > 1 else one
        for one in kept
    ]


def _plain(fact: Fact) -> str | None:
    """The value; of a size its number, so that `7B` and `Llama-7B` are equal."""
    size = find_size(fact.value or "") if fact.field == "size" else None
    return str(size[1]) if size else fact.value


def _assigned(text: str, line: int) -> Iterator[Fact]:
    for match in _PAIR.finditer(text):
        field = setting_field(match["key"])
        yield from (typed_facts(field, match["value"], text, line) or []) if field else []
