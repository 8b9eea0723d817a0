"""Facts that a document states around its tables, with their lines and scopes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

from ...vocabulary.fields import fields as run_fields
from ...vocabulary.fields import named
from ...vocabulary.hardware import device_of, device_pattern, one_spelling, with_series
from ...vocabulary.package_toml import declared
from ...vocabulary.parallelism import glued_in
from ...vocabulary.prefilter import HintedPattern
from ...vocabulary.sizes import binary_length, find_size
from ...vocabulary.spelling import meant
from ..cast import integer
from .fact import Fact
from .frameworks import frameworks_heading, is_of_stack
from .model_families import model_in
from .setting_phrases import in_series, is_measure, named_numbers
from .techniques import recompute_added
from .text_cache import cached

INTEGERS = frozenset(
    {"steps", *(run_field.name for run_field in run_fields().values() if run_field.is_whole)}
)
_COUNTED = frozenset(("mbs", "gbs", "seq_len"))
_FORMAT = re.compile(r"(?:fp|bf|float|bfloat)(?:4|8|16|32)(?!\d)", re.I)
_NO_FORMAT = re.compile(rf"\b(?:no|without|w/o|non)[ -]{_FORMAT.pattern}", re.I)
_DTYPES = {"float8": "fp8", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_RECIPE = re.compile(
    r"(?<![A-Za-z0-9])(?:MXFP[48]|NVFP4|FP8[ -](?:CS|DS|MX|SC|blockwise|delayed|current|tensorwise"
    r"|rowwise)(?:[ -]scaling)?)(?![A-Za-z0-9])",
    re.I,
)
_SWITCHES = {
    **dict.fromkeys(("0", "false", "no", "off", "none", "disabled"), "none"),
    **dict.fromkeys(("1", "true", "yes", "on", "full", "enabled"), "full"),
    "selective": "selective",
}
_MODEL = re.compile(
    r"^\W{0,8}model(?: name)?\s{0,4}:\W{0,4}"
    r"(?P<name>[a-z][\w.+-]{0,40}(?: [\w.+-]{1,40}){0,4})\W{0,8}$",
    re.I,
)
_TOKENS = HintedPattern(
    r"\b\d+(?:\.\d+)?\s?[BMT][ -]+(?:[A-Z][\w-]{1,20}[ -])?tok(?:en)?s?\b"
    r"|\bbatch(?:[ _-]?size)?\s?(?:of|is|=|:)?\s?\d+(?:\.\d+)?\s?M\b",
    re.I,
)
# Of experts, a token uses a part: `active params (21.6B)`, `3B active`.
_LIMIT = HintedPattern(
    r"\b(?:under|below|beyond|above|over|up to|at (?:most|least)|sub"
    r"|(?:less|fewer|more|larger|smaller) than)"
    r"[ -](?:the |an? )?\d{1,4}(?:\.\d{1,3})?[ -]?[bBmMtT](?:illion|rillion)?\b",
    re.I,
)
_ACTIVE = HintedPattern(
    r"\b(?:active|activated)\s(?:param\w*)?\W{0,4}\d+(?:\.\d+)?\s?[BM]\b"
    r"|\b\d+(?:\.\d+)?\s?[BM]\s(?:active|activated)\b",
    re.I,
)
_REFERENCE = re.compile(r"\([^()§]{0,40}§[^()§]{0,20}\)")
_PAIR = re.compile(r"(?<![\w-])(?P<key>[A-Za-z_]{2,30})=(?P<value>[\w.]{1,20})(?![\w=])")
_NODE = r"(?:nodes?|hosts?|machines?|servers?)"
_MAKER = r"(?:(?:nvidia|amd|intel)\s+)?"
_PER_NODE = HintedPattern(
    rf"(?<!\d)(?P<n>\d{{1,4}})\s*(?:x\s*)?{_MAKER}gpus?(?:\s*(?:per|/|a)\s*{_NODE}\b"
    rf"|\s+(?:[a-z]+\d+\w*\s+)(?:\d+\s?g[ib]*b?\s+)?{_NODE}\b)"
    rf"|\b{_NODE}\s+(?:of|with|has|have|contains?)\s+(?:-\s+)?(?P<of>\d{{1,4}})\s*(?:x\s*)?{_MAKER}"
    r"(?:[a-z]+\d+\w*\s+)?(?:\d+\s?g[ib]*b?\s+)?gpus?\b"
    r"|--gres=gpu(?::[a-z]\w*)?:(?P<gres>\d{1,4})"
    r"|--(?:nproc[_-]per[_-]node|gpus-per-node)[ =](?P<each>\d{1,4})(?!\d)",
    re.I,
)


def phrases_in(text: str, line: int, scope: str) -> list[Fact]:
    """Facts that a heading or lead-in line mentions, except fields with several values."""
    facts: list[Fact] = []
    for name, value in _stated_by_phrases(text):
        facts += _phrase_facts(name, value, text, line, scope)
    named = {fact.field for fact in facts}
    if scope == "heading":
        mentioned = [*_assigned(text, line, scope), *frameworks_heading(text, line)]
        mentioned += recompute_added(text, line)
        facts += [fact for fact in mentioned if fact.field not in named]
    sizes = sizes_in(text)
    model = _model_named(text) or (sizes[0][0] if len({size for _, size in sizes}) == 1 else None)
    if model:
        facts.append(Fact("size", model, text.strip(), line, scope))
    if by_family := model_in(text, is_heading=scope == "heading"):
        facts.append(Fact("model_name", by_family, text.strip(), line, scope))
    return _without_conflicts(facts) + machine_facts(text, line, scope)


def dtype_of(text: str) -> str | None:
    """The number format that a text names as used: `BF16 (no FP8)` is bf16."""
    names = formats_in(_NO_FORMAT.sub(" ", text))
    return names.pop() if len(names) == 1 else None


def formats_in(text: str) -> set[str]:
    """The number formats that a text names."""
    found = {word.lower() for word in _FORMAT.findall(text)}
    return {_DTYPES.get(word, word) for word in found}


def recipe_of(text: str) -> str | None:
    """The recipe of a narrow number format that a text names: MXFP8, NVFP4, FP8-CS."""
    found = dict.fromkeys(match[0] for match in _RECIPE.finditer(text))
    return next(iter(found)) if len(found) == 1 else None


def devices_named(text: str, line: int) -> list[Fact]:
    """One fact for each device that a text names: several apply to no table."""
    names = sorted(_devices_in(text))
    return [Fact("device", name, text.strip(), line, "line") for name in names]


def machine_facts(text: str, line: int, scope: str) -> list[Fact]:
    """Device and devices per node, when the text names exactly one of each."""
    return [Fact(*one, text.strip(), line, scope) for one in _machine_in(text)]


def _devices_in(text: str) -> set[str]:
    """The devices that a text names; `DGX A100 (8x A100 80GB)` names one."""
    every = {_device_name(match) for match in device_pattern().finditer(with_series(text))}
    names = {one_spelling(name): name for name in sorted(every, key=len)}
    return {
        name
        for spelled, name in names.items()
        if not any(other.startswith(f"{spelled}-") for other in names)
    }


@cached
def _machine_in(text: str) -> tuple[tuple[str, str], ...]:
    counts = {
        match["n"] or match["of"] or match["gres"] or match["each"]
        for match in _PER_NODE.finditer(text)
    }
    found = {"device": _devices_in(text), "devices_per_node": counts}
    return tuple((field, values.pop()) for field, values in found.items() if len(values) == 1)


def is_aside(text: str, where: str) -> bool:
    """Whether words of `headings` or `lines` mark what follows as no setting of a run here.

    Those of `projected` mark it as no measurement either. A reference marks nothing: `(plan §5)`.
    """
    return bool(_aside(where).search(_REFERENCE.sub("", text)))


def same_device(name: str, other: str) -> bool:
    """Whether one name is a longer form of the other (A100 and A100-80GB)."""
    short, long = sorted((name, other), key=len)
    return long == short or long.startswith(short + "-")


def phrase_samples() -> list[tuple[str, str, str]]:
    """Field, text and value of each sample of context.toml."""
    return [(p["field"], text, value) for p in _file()["phrase"] for text, value in p["samples"]]


@cached
def _stated_by_phrases(text: str) -> tuple[tuple[str, str], ...]:
    """The fields with one value; of two phrases that overlap, the one declared first counts less.

    `with activation checkpointing disabled` contains `with activation checkpointing`.
    """
    found = [
        (phrase["field"], match.span(), _phrase_value(phrase, match))
        for phrase in _phrases()
        for match in phrase["regex"].finditer(text)
        if not (phrase["field"] in _COUNTED and in_series(text, match.end()))
        if not (phrase["field"] in INTEGERS and is_measure(text, match.end()))
    ] + [*named_numbers(text), *glued_in(text)]
    denied = set(_denied(found))
    values: dict[str, set[str]] = {}
    for place, (name, _, value) in enumerate(found):
        if place not in denied:
            plain = value.replace(",", "") if name in INTEGERS else value
            values.setdefault(name, set()).add(plain)
    return tuple((name, single.pop()) for name, single in values.items() if len(single) == 1)


def _denied(found: Sequence[tuple[str, tuple[int, int], str]]) -> Iterator[int]:
    """The places of the values that another one of the field, which overlaps, denies."""
    order = sorted(range(len(found)), key=lambda place: (found[place][0], *found[place][1]))
    for at, place in enumerate(order):
        name, (_, end), value = found[place]
        for other in islice(order, at + 1, None):
            if found[other][0] != name or found[other][1][0] >= end:
                break
            if _denies(found[other][2], value):
                yield place
            if _denies(value, found[other][2]):
                yield other


def _assigned(text: str, line: int, scope: str) -> list[Fact]:
    """Settings such as `GBS=512` within a heading."""
    facts: list[Fact] = []
    for match in _PAIR.finditer(text):
        field = setting_field(match["key"])
        typed = typed_facts(field, match["value"], text, line) if field else None
        facts += [replace(fact, scope=scope) for fact in typed or []]
    return facts


def setting_field(name: str) -> str | None:
    """The field of a setting by the letters of its name; None if it is no field."""
    letters = re.sub(r"[^a-z]", "", name.lower())
    known, names = _settings()
    return known.get(letters) or known.get(meant(letters, names) or "")


@cache
def _settings() -> tuple[dict[str, str], frozenset[str]]:
    """The fields by their names in settings, letters alone; and these names."""
    known = {**_file()["keys"], **named("settings")}
    return known, frozenset(known)


def _denies(value: str, other: str) -> bool:
    """Whether the first of two readings of the same words overrides the second."""
    rank = ("unclear", "none", "selective", "full")
    return value in rank and (other not in rank or rank.index(value) < rank.index(other))


def _phrase_facts(field: str, value: str, text: str, line: int, scope: str) -> list[Fact]:
    if field in ("env_on", "env_off"):
        name, _, setting = value.partition("=")
        return [
            Fact(f"env:{name}", setting if field == "env_on" else None, text.strip(), line, scope)
        ]
    if field == "framework" and is_of_stack(value, text):
        return []
    if value == "unclear":
        return [Fact(field, None, text.strip(), line, scope)]
    if field == "dtype":
        plain = re.sub(r"^(?:nv|mx)", "", value.lower().replace("-", ""))
        value = _DTYPES.get(plain, plain)
    return [
        Fact(
            field, value.replace(",", "") if field in INTEGERS else value, text.strip(), line, scope
        )
    ]


def _phrase_value(phrase: dict[str, Any], match: re.Match[str]) -> str:
    return str(phrase.get("value") or match["value"]).rstrip(",")


def _without_conflicts(facts: list[Fact]) -> list[Fact]:
    fields = [fact.field for fact in facts]
    return [fact for fact in facts if fields.count(fact.field) == 1]


def _model_named(text: str) -> str | None:
    """The name in a line or heading that is `Model: NAME`, with or without a size in it."""
    match = _MODEL.match(text)
    words = re.split(r"[ _]", match["name"]) if match else []
    # A name has capitals or digits; `Model: see below` is a sentence.
    named = all(re.search(r"[A-Z\d]", word) for word in words)
    return match["name"] if match and named else None


@cached
def sizes_in(text: str) -> tuple[tuple[str, float], ...]:
    """The sizes of models that a text names, each as written and in 1e9 parameters.

    Devices have names of the same form: `Ascend 910B`, `Atlas 800T A2`. A limit (`under 1B`) is
    the size of no model.
    """
    sized = _LIMIT.sub(" ", _ACTIVE.sub(" ", _TOKENS.sub(" ", text)))
    rest, sizes = device_pattern().sub(" ", sized), []
    while found := find_size(rest):
        sizes.append(found)
        rest = rest[rest.index(found[0]) + len(found[0]) :]
    return tuple(sizes)


def typed_facts(field: str, value: str, text: str, line: int) -> list[Fact] | None:
    """The fact that a setting of a line states; None if the value does not fit the field."""
    plain = value.replace(",", "").replace("_", "")
    if field == "size" and find_size(value) is None:
        return None  # `MSIZE=39` has no unit
    if field == "dtype":
        value = dtype_of(value) or value
    if field == "recompute":
        switched = _SWITCHES.get(value.lower())
        return [Fact(field, switched, text.strip(), line, "line")] if switched else None
    if field in INTEGERS and integer(plain) is None:
        # `VOCAB_LENGTH=250k` is a rounded label, not a size.
        rounded = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmM])", plain)
        thousands = rounded if rounded and field == "seq_len" and rounded[2] in "kK" else None
        if thousands and (length := binary_length(float(thousands[1]))):
            return [Fact(field, str(length), text.strip(), line, "line")]
        return [Fact(f"{field}_label", value, text.strip(), line, "line")] if rounded else None
    return [Fact(field, plain if field in INTEGERS else value, text.strip(), line, "line")]


def _device_name(match: re.Match[str]) -> str:
    device = device_of(match["device"])
    name = device.family if device else match["device"]
    form = f"-{match['form'].upper()}" if match["form"] else ""
    return f"{name}{form}-{match['memory']}GB" if match["memory"] else f"{name}{form}"


@cache
def _aside(where: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_file()['aside'][where]})(?!\w)", re.I)


@cache
def _phrases() -> tuple[dict[str, Any], ...]:
    return tuple(
        {**phrase, "regex": HintedPattern(phrase["pattern"], re.I)} for phrase in _file()["phrase"]
    )


@cache
def _file() -> Mapping[str, Any]:
    return declared(__package__ or "bench.ingest.documents", "context.toml")
