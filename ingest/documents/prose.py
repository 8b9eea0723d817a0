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
from ...vocabulary.slices import devices_in, is_machine
from .context import devices_named, dtype_of, phrases_in, setting_field, typed_facts
from .fact import Fact
from .frameworks import frameworks_in
from .grid import Table
from .nouns import in_series
from .whole_counts import devices_of_one_node

_PAIR = re.compile(
    r"(?<![\w.-])(?P<key>[A-Za-z_-]{2,30})\s?=\s?(?P<value>\w[\w.]{0,19}(?<!\.))(?![\w=*/+(])"
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
_UNITS = r"(?:GPUs?|NPUs?|TPUs?|HPUs?|accelerators|devices|chips)"
_UNIT_LAST = re.compile(rf"\b{_UNITS}\Z", re.I)
_LETTERS = re.compile(r"(?<![\w.-])(?P<key>[A-Z]{2,4}) ?(?P<value>\d{1,6})(?![\w.%-]|/\d)")
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
    rf"(?<![\w.])(?!1\s)\d{{1,6}}\s?[x×]?\s*{_UNITS}(?!\w)|\b(?:multi|several)\b", re.I
)
_ACCUMULATES = re.compile(r"(?<!no )(?<!without )(?:gradient|grad)[ _-]acc", re.I)
_SLICE = re.compile(r"-\d")  # `2x v5p-128` counts slices of many chips
_SHORT, _LONG = 24, 80  # letters before a count that may make it a limit
_LIMIT = re.compile(
    r"(?:up to|at least|more than|less than|over|than|to|from|per|each|of|through|until"
    r"|[-–<>≥≤/]|\d\s(?:and|or|vs\.?|&))\s*$",
    re.I,
)
_EACH_HAS = re.compile(
    r"\b(?:each|every|per|a|one|the|single)\s(?:[\w-]+\s){0,2}(?:nodes?|hosts?|machines?|servers?|instances?)\s"
    r"(?:(?:has|have|with|of|contains?|holds?|comes?|carries|is|equipped|containing|having)\s){1,3}$",
    re.I,
)
_WORDS = {"two": 2, "four": 4, "eight": 8, "sixteen": 16}
_COUNT = re.compile(
    rf"(?<![\w.,/])(?P<n>\d{{1,6}}|{'|'.join(_WORDS)})(?:\s*[x×*]\s*|\s+)(?:(?:NVIDIA|AMD|Intel)\s+)?",
    re.I,
)
# `A100 80G * 8`
_TIMES = re.compile(r"\s*[x×*]\s*(?P<n>\d{1,6})(?![\w.%]|\s*(?:nodes?|hosts?)\b)", re.I)
# `Single A100`, `on a single RTX 5090`, `One H100, bf16`
_SINGLE = re.compile(
    r"(?:(?:^|[,;:(]\s)(?:a\s)?|\b(?:on|using|with|of)\s(?:a|just|only)\s)(?:single|one)\s(?:(?:NVIDIA|AMD|Intel)\s)?",
    re.I,
)
_OF_NODES = re.compile(r"\s*(?:nodes?|hosts?|machines?|servers?|instances?|slices?)\b", re.I)
_NODES = re.compile(r"(?<![\w.,/])(?P<n>\d{1,5})[ -]nodes?\b", re.I)
# `8 nodes x 8 H100`, `2 nodes with 8 GPUs each`, `8x8 H100`
_SQUARE = re.compile(
    r"(?<![\w.,/])(?P<nodes>\d{1,5})\s*(?:(?:nodes?|hosts?|servers?|machines?)\s*(?:[x×*]|with|of)|[x×*])\s*"
    r"(?P<each>\d{1,3})\s*(?:[x×*]\s*)?(?:(?:NVIDIA|AMD|Intel)\s+)?",
    re.I,
)
_CARDS = re.compile(r"(?<![\w.,/])(?P<n>\d{1,6})\s*(?:张)?卡")
_PER_NODE = re.compile(
    r"\s*(?:per|/|a|an|each|on (?:each|every|a|one))\s*(?:node|host|machine|server|instance)", re.I
)
_NAMED = re.compile(r"^\s*(?:model|模型)\s*[:：]\s*(?P<name>\S.{0,60})$", re.I)
# `Qwen3-0.6B`, `INTELLECT-3`: a word of letters and digits
_NAME = re.compile(r"^(?=[^\d]*[A-Za-z]{2})(?=.*\d)[A-Za-z][\w.]*(?:-[\w.]+){1,6}$")
_NO_NAME = re.compile(
    r"^(?:zero|v|phase|part|step|table|exp\w*|run|stage|case|fp|bf|tf|int|mx|nv)-?\w{0,4}\b", re.I
)
_INHERITED = frozenset(
    re.findall(
        r"\w+",
        "size seq_len dtype zero_stage recompute mbs gbs tp pp cp ep vpp devices layers hidden"
        " heads vocab framework nodes grad_accum dp kv_heads ffn_hidden",
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
    return [*facts, *(fact for fact in unambiguous(more) if fact.field not in fields)]


def set_up(table: Table) -> list[Fact]:
    """The settings of a table of names and values (`micro_bsz | 1`), else nothing.

    A column of remarks may follow.
    """
    _, value, *remarks = (*table.header.cells, "", "")[: max(2, len(table.header.cells))]
    if not all(map(_REMARK.fullmatch, remarks)) or _NO_VALUE.search(value):
        return []
    facts: list[Fact] = []
    headed = _NAMES.fullmatch(table.header.cells[0]) is not None
    for row in (*(() if headed else (table.header,)), *table.rows):
        name, value = (*row.cells, "", "")[:_PAIR_OF_CELLS]
        column = column_of(name)
        if column is None or column.role not in _SET or not value:
            continue
        cell = parse_cell(value, column)
        text = f"{cell.value:.0f}" if cell.kind == "number" and cell.value else _word(column, value)
        if text and not cell.invalid:
            facts.append(Fact(column.name, text, f"{name}: {value}", row.line, "line"))
    return [replace(fact, group=table.header.line) for fact in unambiguous(facts)]


def _word(column: Column, value: str) -> str | None:
    """A setting in words: a device, a number format, whether activations are recomputed."""
    if column.name == "dtype":
        return dtype_of(value)
    if column.name == "recompute":
        cell = parse_cell(value, column)
        return None if cell.value is None else "full" if cell.value else "none"
    known = column.name == "size" or (column.name == "device" and device_pattern().search(value))
    return value if known else None


def counted(text: str, line: int) -> Iterator[Fact]:
    """Counts of devices and nodes in a text (`8x H100`); limits do not count."""
    found_squares = _SQUARE.finditer(text)
    squares = [found_square for found_square in found_squares if _is_square(text, found_square)]
    for found in squares:
        counts = {"nodes": found["nodes"], "devices_per_node": found["each"]}
        counts["devices"] = str(int(found["nodes"]) * int(found["each"]))
        yield from (Fact(name, value, text.strip(), line, "line") for name, value in counts.items())
    taken = {place for match in squares for place in range(*match.span())}
    # In `two RTX 2080 GPUs`, 2080 belongs to the name.
    taken |= {n for match in device_pattern().finditer(text) for n in range(*match.span("device"))}
    for found in _COUNT.finditer(text):
        end = _end_of_devices(text, found.end())
        if found.start() in taken or _SLICE.match(text, end):
            continue
        behind, count = text[end:], _WORDS.get(found["n"].lower()) or int(found["n"])
        if end == found.end() or _is_limit(text, found.start()):
            continue
        name = text[found.end() : end].strip()
        if is_machine(name) and not _UNIT_LAST.search(name):  # `64 DGX H100 GPUs`
            machines = _of_machines(count, name)
            yield from (
                Fact(one, str(value), text.strip(), line, "line") for one, value in machines
            )
        elif not _PER_NODE.match(behind) and not re.match(r"\s*nodes?\b", behind, re.I):
            yield Fact("devices", str(count), text.strip(), line, "line", only_named=_of(name))
    for device in device_pattern().finditer(text):
        times = _TIMES.match(text, device.end())
        if times and not _PER_NODE.match(text[times.end() :]):
            yield Fact("devices", times["n"], text.strip(), line, "line")
    for found in _SINGLE.finditer(text):
        named = device_pattern().match(text, found.end())
        end = _end_of_devices(text, found.end())
        if named and not is_machine(named[0]) and not _OF_NODES.match(text, end):
            yield Fact("devices", "1", text.strip(), line, "line")
    for found in _NODES.finditer(text):
        if found.start() not in taken and not _is_limit(text, found.start()):
            yield Fact("nodes", found["n"], text.strip(), line, "line")
    yield from devices_of_one_node(text, line)
    for found in _CARDS.finditer(text):
        yield Fact("devices", found["n"], text.strip(), line, "line")


def _of(name: str) -> str | None:
    """The device of a count, in the form that rows name theirs: `a100`."""
    device = device_pattern().search(name)
    return device["device"].lower() if device and device["device"].isalnum() else None


def _is_limit(text: str, start: int) -> bool:
    """Whether a count is a limit, or per node, by the words before it: `each node has 8 GPUs`."""
    before = text[max(0, start - _LONG) : start]
    return bool(_LIMIT.search(before[-_SHORT:]) or _EACH_HAS.search(before))


def _is_square(text: str, match: re.Match[str]) -> bool:
    """Whether devices follow a product, or nothing follows one with nodes: `4 nodes × 8`."""
    if _end_of_devices(text, match.end()) > match.end():
        return True
    return "node" in match[0].lower() and bool(re.match(r"\W*(?:$|[,;.)])", text[match.end() :]))


def _of_machines(nodes: int, name: str) -> list[tuple[str, int]]:
    """Nodes of a count of machines; devices too if their number per machine is known."""
    each = devices_in(name)
    return [
        ("nodes", nodes),
        *([("devices_per_node", each), ("devices", nodes * each)] if each else []),
    ]


def _batch_of_one(text: str, line: int) -> Iterator[Fact]:
    """The micro-batch: in a text about runs on one device, the batch size."""
    counts = {fact.value for fact in counted(text, line) if fact.field == "devices"}
    one = counts == {"1"} or (not counts and _ONE_DEVICE.search(text))
    if not one or _SEVERAL.search(text) or _ACCUMULATES.search(text):
        return
    for match in _BATCH.finditer(text):
        if not in_series(text, match.end()) and not _OTHER_BATCH.fullmatch(match["of"] or ""):
            yield Fact("mbs", match["value"], text.strip(), line, "line")


def _end_of_devices(text: str, start: int) -> int:
    """The end of the device name that begins at `start`; `start` if there is none."""
    device = device_pattern().match(text, start)
    end = device.end() if device else start
    unit = re.compile(rf"\s*{_UNITS}(?!\w)", re.I).match(text, end)
    return unit.end() if unit else end


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
