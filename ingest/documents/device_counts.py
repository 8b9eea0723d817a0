"""Counts of devices and nodes in a text: `8x H100`, `two 8-GPU hosts`, `on a single A100`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...vocabulary.device_names import devices_in, is_machine, slice_of
from ...vocabulary.hardware import device_pattern, with_series
from ...vocabulary.prefilter import HintedPattern
from .fact import Fact
from .text_cache import cached

_COUNTED = r"(?:GPU|NPU|TPU|HPU|XPU|GCD|accelerator|device|chip)"
UNITS = rf"(?:{_COUNTED[3:-1].replace('|', 's?|')}s?)"
# `10 GPU cores`, `96 GPU-hours`
_UNIT = re.compile(
    rf"\s*{UNITS}(?!\w|[ -](?:cores?|hours?|hrs?|days?|weeks?|months?|years?|minutes?|SMs?)\b)",
    re.I,
)
_UNIT_LAST = re.compile(rf"\b{UNITS}\Z", re.I)
_MAKER = r"(?:(?:NVIDIA|AMD|Intel)\s+)?"
_NODE = r"(?:nodes?|hosts?|machines?|servers?|instances?)\b"
_SLICE = re.compile(r"-\d")  # `2x v5p-128` counts slices of many chips
_SHORT, _LONG = 24, 80  # letters before a count that may make it a limit
_LIMIT = re.compile(
    r"(?:up to|at least|more than|less than|over|than|to|from|per|each|of|through|until"
    r"|[-–<>≥≤]|(?<!\s)/|\d\s(?:and|or|vs\.?|&)|에서|부터|から|从|到|至)\s*$",
    re.I,
)
_EACH_HAS = re.compile(
    r"\b(?P<ran>(?:on|using)\s(?:a\s)?(?:one|single)|each|every|per|a|one|the|single)\s"
    rf"(?:[\w-]+\s){{0,2}}{_NODE}\s"
    r"(?:(?:has|have|with|of|contains?|holds?|comes?|carries|is|equipped|containing|having)\s){1,3}$",
    re.I,
)
_WORDS = {"two": 2, "dual": 2, "three": 3, "four": 4, "eight": 8, "sixteen": 16}
_NUMBER = rf"(?<![\w.,/])(?P<n>\d{{1,6}}|{'|'.join(_WORDS)})"
# `8x H100`, `8 H100`, `16-chip`, `64GPU`
_COUNT = re.compile(
    rf"{_NUMBER}(?:\s*[x×*]\s*|\s+|-?(?={_COUNTED}s?(?!\w)))(?P<maker>{_MAKER})", re.I
)
# `7b_12gpu_tp4`
_IN_NAME = re.compile(rf"(?<=[A-Za-z]_)(?P<n>\d{{1,6}})(?={_COUNTED}s?(?![A-Za-z0-9]))", re.I)
# `A100 80G * 8`
_TIMES = re.compile(r"\s*[x×*]\s*(?P<n>\d{1,6})(?![\w.%]|\s*(?:nodes?|hosts?)\b)", re.I)
# `x8 H100`
_SIGNED = re.compile(rf"(?<![\w.,/])(?<!\d )[x×](?P<n>\d{{1,6}})\s+{_MAKER}", re.I)
# `Single A100`, `on a single RTX 5090`, `isolated single GPU`, `on one A100`; `on an RTX PRO 4500`
_SINGLE = re.compile(
    r"(?:(?:^|[,;:(]\s?)(?:an?\s)?(?:\w+\s)?|\b(?:on|using|with|of)\s(?:(?:a|just|only)\s)?)"
    rf"(?:single|one)[\s-]{_MAKER}|\b(?:on|using)\san?\s{_MAKER}",
    re.I,
)
_OF_NODES = HintedPattern(
    rf"(?<!\s)\s*+(?:\([^()]{{1,40}}\)\s*+)?(?:{_NODE}|(?:slices?|clusters?|systems?|pods?|box(?:es)?|partitions?|supercomputer)\b)"
    r"|[- ](?:class|based|like)\b",
    re.I,
)
_SEVERAL_NODES = HintedPattern(r"\s*(?:nodes|hosts|servers)\b", re.I)
_AFTER_NODES = HintedPattern(rf"\s*{_NODE}", re.I)
# `4 nodes`, `eight Holmes nodes`, `4 worker hosts`; `16 GPU nodes` may have any number
_NODES = HintedPattern(
    rf"{_NUMBER}[ -](?:(?!(?:per|of|or|and|to|more|GPUs?|NPUs?|TPUs?)\b)[A-Za-z]\w{{1,20}} )?"
    r"(?:node|host|server|machine)s?\b",
    re.I,
)
_ONE_NODE = re.compile(r"(?<![\w-])(?:single|one)[ -](?:node|host|server)\b(?!s)", re.I)
# `8 nodes x 8 H100`, `2 nodes with 8 GPUs each`, `8x8 H100`
_SQUARE = re.compile(
    r"(?<![\w.,/])(?P<nodes>\d{1,5})\s*(?:(?:nodes?|hosts?|servers?|machines?)\s*(?:[x×*]|with|of)|[x×*])\s*"
    rf"(?P<each>\d{{1,3}})\s*(?:[x×*]\s*)?{_MAKER}",
    re.I,
)
# `TPU v4-32`, `v5p-256`: the slice of a job
_CHIPS = HintedPattern(
    r"(?<![\w-])(?<!\dx )(?<!\d )(?:TPU[ -]?v[234]|v5p|v5e|v5litepod|v6e)-\d{1,5}(?![\w-])", re.I
)
# `4 台各配置了 8 张 V100`
_SQUARE_ZH = re.compile(
    r"(?<![\w.])(?P<nodes>\d{1,4})\s?(?:台|个?节点|机)[^\d。，,；;]{0,12}(?P<each>\d{1,2})\s?(?:张|块|卡)"
)
# `2× DDP`, `FSDP x8`
_PROCESSES = re.compile(
    r"(?<![\w.])(?:(?P<n>\d{1,4})\s?[x×]\s?(?:DDP|FSDP2?)|(?:DDP|FSDP2?)\s?[x×]\s?(?P<m>\d{1,4}))(?![\w.])"
)
_CARDS = re.compile(r"(?<![\w.,/])(?P<n>\d{1,6})\s*(?:张)?卡")
_PER_NODE = re.compile(
    r"\s*(?:\([^()]{1,40}\)\s*)?(?:(?:per|/|a|an|each|on (?:each|every|a|one))\s*"
    r"(?:node|host|machine|server|instance)|each\b)",
    re.I,
)
# `on one 8xH100 node`, `an 8xA100-80GB machine`
_WHOLE = re.compile(
    rf"(?<![\w-])(?:one|single|an?|1)\s(?P<n>\d{{1,3}})(?:\s?[x×*]\s?|-){_MAKER}", re.I
)
_WHOLE_NODE = re.compile(rf"(?:{_COUNTED}s?)?[ -]?(?:node|host|machine|server)\b", re.I)
_NOTHING_MORE = re.compile(r"\W*(?:$|[,;.)])")
_PER_MACHINE = frozenset((2, 4, 8, 16))  # devices
# A heading's compound word: `8-NPU Benchmarks`, `Single-GPU`
_COMPOUND = re.compile(
    rf"(?<![\w.,/–-])(?:(?P<n>\d{{1,6}})-|(?:single|one)[ -])(?:{_COUNTED}|card)s?(?![\w/])",
    re.I,
)
# Of several set-ups none is that of every table below.
_SEVERAL = re.compile(
    rf"\b(?:vs|versus|per|from|to|than|up|equivalent)\b|multi-?(?:GPU|NPU|node)|(?<!\w){_COUNTED}s?(?!\w)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class _Count:
    """A count of a text; `of`: the device that it counts."""

    field: str
    value: int
    of: str | None = None


def counted(text: str, line: int) -> Iterator[Fact]:
    """The facts of the devices and nodes that a text counts; limits do not count."""
    counts = _counts(text)
    for one in (*counts, *_product(counts)):
        yield Fact(one.field, str(one.value), text.strip(), line, "line", only_named=one.of)


def devices_of_heading(text: str, line: int) -> Iterator[Fact]:
    """The devices that a heading counts in a compound word, if it counts once."""
    found = list(_COMPOUND.finditer(text))
    if len(found) == 1 and not _SEVERAL.search(text[: found[0].start()] + text[found[0].end() :]):
        yield Fact("devices", found[0]["n"] or "1", text.strip(), line, "heading")


@cached
def _counts(text: str) -> tuple[_Count, ...]:
    return tuple(_each(with_series(text)))


def _each(text: str) -> Iterator[_Count]:
    squares = [found for found in _SQUARE.finditer(text) if _is_square(text, found)]
    squares += _SQUARE_ZH.finditer(text)
    for found in squares:
        yield from _of_machines(int(found["nodes"]), int(found["each"]))
    taken = {place for match in squares for place in range(*match.span())}
    # In `two RTX 2080 GPUs`, 2080 belongs to the name.
    taken |= {n for match in device_pattern().finditer(text) for n in range(*match.span("device"))}
    devices = [one for found in _COUNT.finditer(text) if found.start() not in taken
               for one in _of_devices(text, found)]  # fmt: skip
    yield from devices
    yield from _without_numbers(text)
    nodes = [
        found
        for found in _NODES.finditer(text)
        if found.start() not in taken and not _is_limit(text, found.start())
        and found["n"].lower() != "dual"  # `a dual A100 node` is one
    ]  # fmt: skip
    yield from (_Count("nodes", _value(found["n"])) for found in nodes)
    if not nodes and _ONE_NODE.search(text) and not re.search(r"\bmulti", text, re.I):
        yield _Count("nodes", 1)
    if not nodes:
        yield from _nodes_of_product(text, devices)
    for found in _CARDS.finditer(text):
        if found.start() not in taken:
            yield _Count("devices", int(found["n"]))
    for found in _PROCESSES.finditer(text):
        yield _Count("devices", int(found["n"] or found["m"]))


def _product(counts: Sequence[_Count]) -> Iterator[_Count]:
    """The devices of `8 nodes, 8x H100 each`, which counts none."""
    values = {
        field: {one.value for one in counts if one.field == field}
        for field in ("nodes", "devices_per_node", "devices")
    }
    if [len(one) for one in values.values()] == [1, 1, 0]:
        nodes, each = values["nodes"].pop(), values["devices_per_node"].pop()
        if nodes > 1:  # `One node has 8 GPUs` may be said of any
            yield _Count("devices", nodes * each)


def _of_devices(text: str, found: re.Match[str]) -> Iterator[_Count]:
    """Of a count with a name or a unit behind it: devices, those of one node, or machines."""
    end = _end_of_devices(text, found.end())
    if end == found.end() or _SLICE.match(text, end):
        return
    name, count = text[found.end() : end].strip(), _value(found["n"])
    before = text[max(0, found.start() - _LONG) : found.start()]
    each = _EACH_HAS.search(before)
    if each and " " in each["ran"]:
        yield from _of_machines(1, count)
    elif each or _PER_NODE.match(text, end):
        yield _Count("devices_per_node", count)
    elif _LIMIT.search(before[-_SHORT:]):
        return
    elif is_machine(name) and not _UNIT_LAST.search(name):  # `64 DGX H100 GPUs`
        own = devices_in(name)
        yield from _of_machines(count, own) if own else [_Count("nodes", count)]
    elif not _AFTER_NODES.match(text, end):
        yield _Count("devices", count, _of(name))


def _without_numbers(text: str) -> Iterator[_Count]:
    """Counts with the number behind the name, or in a word: `A100 80G * 8`, `a single H100`."""
    for device in device_pattern().finditer(text):
        times = _TIMES.match(text, device.end())
        if times and not _PER_NODE.match(text, times.end()):
            yield _Count("devices", int(times["n"]))
    for found in _SIGNED.finditer(text):
        if device_pattern().match(text, found.end()):
            yield from _of_devices(text, found)
    for found in _IN_NAME.finditer(text):
        yield _Count("devices", int(found["n"]))
    for found in _CHIPS.finditer(text):
        if part := slice_of(found[0].replace(" ", "")):
            yield _Count("devices", part[1])
    for found in _SINGLE.finditer(text):
        named = device_pattern().match(text, found.end())
        end = _end_of_devices(text, found.end())
        article = found[0].split()[-1].lower() in ("a", "an", "nvidia", "amd", "intel")
        if end == found.end() or (article and not named) or (named and is_machine(named[0])):
            continue
        if not any(one.match(text, end) for one in (_OF_NODES, _TIMES, _SLICE)):
            yield _Count("devices", 1)
    for found in _WHOLE.finditer(text):
        inside = device_pattern().match(text, found.end())
        end = inside.end() if inside else found.end()
        if _WHOLE_NODE.match(text[end:].lstrip()):
            yield from _of_machines(1, int(found["n"]))


def _nodes_of_product(text: str, devices: Sequence[_Count]) -> Iterator[_Count]:
    """`2x H100 nodes, 16 GPUs`: nodes, if so many make the devices."""
    totals = {one.value for one in devices if one.field == "devices"}
    total = totals.pop() if len(totals) == 1 else 0
    for found in _COUNT.finditer(text):
        end, count = _end_of_devices(text, found.end()), _value(found["n"])
        plural = end > found.end() and _SEVERAL_NODES.match(text, end)
        if plural and total % count == 0 and total // count in _PER_MACHINE:
            yield _Count("nodes", count)


def _value(number: str) -> int:
    return _WORDS.get(number.lower()) or int(number)


def _of(name: str) -> str | None:
    """The device of a count, in the form that rows name theirs: `a100`."""
    device = device_pattern().search(name)
    return device["device"].lower() if device and device["device"].isalnum() else None


def _is_limit(text: str, start: int) -> bool:
    """Whether a count is a limit by the words before it: `up to 8 nodes`."""
    return bool(_LIMIT.search(text[max(0, start - _SHORT) : start]))


def _is_square(text: str, match: re.Match[str]) -> bool:
    """Whether devices follow a product, or nothing follows one with nodes: `4 nodes × 8`."""
    if _end_of_devices(text, match.end()) > match.end():
        return True
    return "node" in match[0].lower() and bool(_NOTHING_MORE.match(text, match.end()))


def _of_machines(nodes: int, each: int) -> Iterator[_Count]:
    """The counts of so many machines with so many devices each."""
    yield from (
        _Count("nodes", nodes), _Count("devices_per_node", each), _Count("devices", nodes * each)
    )  # fmt: skip


def _end_of_devices(text: str, start: int) -> int:
    """The end of the device name that begins at `start`; `start` if there is none."""
    device = device_pattern().match(text, start)
    end = device.end() if device else start
    unit = _UNIT.match(text, end)
    return unit.end() if unit else end
