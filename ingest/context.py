"""What a document states around its tables: facts, where they stand and how far they reach."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from ..schema.hardware import device_of, device_pattern
from .cast import integer
from .sizes import find_size

INTEGERS = frozenset(
    re.findall(
        r"\w+",
        "layers hidden heads ffn_hidden seq_len vocab tp pp dp cp ep mbs gbs zero_stage "
        "nodes devices devices_per_node steps",
    )
)
_DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_KEY_VALUE = re.compile(
    r"^(?:--)?(?P<key>[A-Za-z_][A-Za-z_ .-]*?)\s*(?:=|:|\s)\s*(?P<value>[^\s=]+)$"
)
_ARGUMENT = re.compile(r"^--(?P<key>[a-z][a-z-]*)(?:\s+|=)(?P<value>\S+)$")
_PAIR = re.compile(r"(?<![\w-])(?P<key>[A-Za-z_]{2,30})=(?P<value>[\w.]{1,20})(?![\w=])")
_COUNT_OF = re.compile(r"^(?:(?P<nodes>\d+)\s+nodes?|(?P<dp>\d+)\s+replicas?)$", re.I)
_STEPS = re.compile(
    r"^(?P<number>\d[\d,]{0,15}(?:\.\d{1,9})?)\s*(?P<scale>[kKmM])?\s*(?:steps|iterations|iters)$",
    re.I,
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_PER_NODE = re.compile(
    r"(?<!\d)(?P<n>\d{1,4})\s*(?:x\s*)?gpus?(?:\s*(?:per|/|a)\s*node|\s+(?:[a-z]+\d+\w*\s+)(?:\d+\s?g[ib]*b?\s+)?nodes?\b)"
    r"|\bnodes?\s+(?:of|with|has|have|contains?)\s+(?P<of>\d{1,4})\s*(?:x\s*)?(?:[a-z]+\d+\w*\s+)?(?:\d+\s?g[ib]*b?\s+)?gpus?\b|--gres=gpu(?::[a-z]\w*)?:(?P<gres>\d{1,4})",
    re.I,
)
_LAUNCH = re.compile(r"^\s*(?:\$\s*)?(?:salloc|sbatch|srun|#SBATCH)\b")
_ASSIGNED = re.compile(
    r"(?<![\w.])\$?([A-Za-z_]\w{0,30})\s{0,3}=\s{0,3}(\d[\d._]{0,15})(?![\w.*/(])"
)
_PRODUCT = re.compile(r"\$?[\w.]{1,30}(?:\s{0,3}\*\s{0,3}\$?[\w.]{1,30}){3,12}")
_VARIABLES = {
    "ms": "params_b", "model_size": "params_b", "params_b": "params_b", "size_b": "params_b",
    "gbs": "gbs", "bs": "gbs", "global_batch_size": "gbs", "batch_size": "gbs",
    "seqlen": "seq_len", "seq": "seq_len", "seq_len": "seq_len", "seq_length": "seq_len",
    "sequence_length": "seq_len",
}  # fmt: skip
# Two FLOPs times forward, backward and, where activations are recomputed, forward again.
_FACTORS = {6.0: "none", 8.0: "full"}


@dataclass(frozen=True, slots=True)
class Fact:
    """One stated fact; where `only_size` is set, for rows of that size (1e9 parameters) alone."""

    field: str
    value: str | None
    raw: str
    line: int
    scope: str
    only_size: float | None = None


def phrases_in(text: str, line: int, scope: str) -> list[Fact]:
    """Facts that a heading or lead-in line states in passing, but no field stated two ways."""
    facts: list[Fact] = []
    for name, found in _stated_by_phrases(text).items():
        if len(found) == 1:
            facts += _phrase_facts(name, found.pop(), text, line, scope)
    named = {fact.field for fact in facts}
    if scope == "heading":
        facts += [fact for fact in _assigned(text, line, scope) if fact.field not in named]
    sizes = {found[1] for found in _sizes_in(text)}
    if len(sizes) == 1:
        label = next(_sizes_in(text))[0]
        facts.append(Fact("size", label, text.strip(), line, scope))
    return _without_conflicts(facts) + machine_facts(text, line, scope)


def dtype_of(text: str) -> str | None:
    """The one number format that a text names."""
    found = {
        word.lower() for word in re.findall(r"(?i)(?:fp|bf|float|bfloat)(?:8|16|32)(?!\d)", text)
    }
    names = {_DTYPES.get(word, "fp8" if word == "float8" else word) for word in found}
    return names.pop() if len(names) == 1 else None


def devices_named(text: str, line: int) -> list[Fact]:
    """One fact for each device that a text names: several of them hold for no table."""
    names = sorted({_device_name(found) for found in device_pattern().finditer(text)})
    return [Fact("device", name, text.strip(), line, "line") for name in names]


def machine_facts(text: str, line: int, scope: str) -> list[Fact]:
    """Device and devices per node, when the text names exactly one of each."""
    facts = []
    names = {_device_name(found) for found in device_pattern().finditer(text)}
    if len(names) == 1:
        facts.append(Fact("device", names.pop(), text.strip(), line, scope))
    counts = {found["n"] or found["of"] or found["gres"] for found in _PER_NODE.finditer(text)}
    if len(counts) == 1:
        facts.append(Fact("devices_per_node", counts.pop(), text.strip(), line, scope))
    return facts


def configuration(text: str, line: int) -> list[Fact]:
    """Facts of a line that consists of nothing but settings (`20B model: TP=8, PP=1, GBS=2048`)."""
    body = _BULLET.sub("", text)
    body = re.sub(r"\s+#.*$|[`*]", "", body).strip().rstrip(":,\\").strip()
    body = re.sub(r"\s+", " ", body)  # runs of blanks make patterns slow
    if len(body) > 400:
        return []
    facts: list[Fact] = []
    size: str | None = None
    for token in _tokens(body):
        label = _lone_size(token)
        found = [] if label else _token_facts(token, text, line)
        if label:
            size = label
            facts.append(Fact("size", label, text.strip(), line, "line"))
        elif found is None:
            return []
        else:
            facts += found
    if not any(fact.field != "size" for fact in facts):
        return []
    named = find_size(size) if size else None
    only = named[1] if named else None
    return [replace(fact, only_size=only) if fact.field != "size" else fact for fact in facts]


def reaches_back(text: str) -> bool:
    """Whether a configuration line says that it also holds for the tables above."""
    return bool(
        re.search(r"\(\s*(?:for\s+)?(?:the\s+)?above(?:,?\s*too)?\s*\)|\babove,? too\b", text, re.I)
    )


def is_launch(text: str) -> bool:
    """Whether a line is an allocation command."""
    return bool(_LAUNCH.match(text))


def one_liner(text: str, line: int) -> list[Fact]:
    """What a one-line TFLOPs formula states: parameters, batch, sequence length, recompute."""
    product = next((p for p in map(_factors, _PRODUCT.finditer(text)) if p), None)
    if not product:
        return []
    numbers, names = product
    recompute = _FACTORS.get(math.prod(numbers))
    if recompute is None or not {"gbs", "seq_len"} <= names:
        return []
    facts = {
        _VARIABLES[name.lower()]: Fact(
            _VARIABLES[name.lower()], value.replace("_", ""), text.strip(), line, "formula"
        )
        for name, value in _ASSIGNED.findall(text)
        if name.lower() in _VARIABLES
    }
    return [*facts.values(), Fact("recompute", recompute, text.strip(), line, "formula")]


def _factors(found: re.Match[str]) -> tuple[list[float], set[str]] | None:
    """The plain numbers of a product, and what its variables stand for."""
    parts = [part.strip().lstrip("$") for part in found[0].split("*")]
    numbers = [float(part) for part in parts if re.fullmatch(r"\d{1,4}(?:\.0)?", part)]
    names = {_VARIABLES[part.lower()] for part in parts if part.lower() in _VARIABLES}
    return (numbers, names) if numbers and names else None


def same_device(name: str, other: str) -> bool:
    """Whether one name only says more of the same device (A100 and A100-80GB)."""
    short, long = sorted((name, other), key=len)
    return long == short or long.startswith(short + "-")


def phrase_samples() -> list[tuple[str, str, str]]:
    """Field, text and value of each sample of context.toml."""
    return [(p["field"], text, value) for p in _file()["phrase"] for text, value in p["samples"]]


def _stated_by_phrases(text: str) -> dict[str, set[str]]:
    """The values of each field; of two phrases that overlap, the one declared first counts less.

    `with activation checkpointing disabled` holds `with activation checkpointing`.
    """
    found = [
        (phrase["field"], match.span(), _phrase_value(phrase, match))
        for phrase in _phrases()
        for match in phrase["regex"].finditer(text)
    ]
    values: dict[str, set[str]] = {}
    for place, (name, span, value) in enumerate(found):
        rivals = [(s, v) for other, (n, s, v) in enumerate(found) if n == name and other != place]
        covered = any(
            s[0] < span[1] and span[0] < s[1] and v != value and _denies(v, value)
            for s, v in rivals
        )
        if not covered:
            values.setdefault(name, set()).add(value)
    return values


def _assigned(text: str, line: int, scope: str) -> list[Fact]:
    """Settings such as `GBS=512` within a heading."""
    facts: list[Fact] = []
    for found in _PAIR.finditer(text):
        field = _file()["keys"].get(re.sub(r"[^a-z]", "", found["key"].lower()))
        typed = _typed(field, found["value"], text, line) if field else None
        facts += [replace(fact, scope=scope) for fact in typed or []]
    return facts


def _denies(value: str, other: str) -> bool:
    """Whether of two readings of the same words the first is the right one."""
    rank = ("unclear", "none", "selective", "full")
    return value in rank and (other not in rank or rank.index(value) < rank.index(other))


def _phrase_facts(field: str, value: str, text: str, line: int, scope: str) -> list[Fact]:
    if field in ("env_on", "env_off"):
        name, _, setting = value.partition("=")
        return [
            Fact(f"env:{name}", setting if field == "env_on" else None, text.strip(), line, scope)
        ]
    if value == "unclear":
        return [Fact(field, None, text.strip(), line, scope)]
    if field == "dtype":
        value = _DTYPES.get(value.lower(), value.lower())
    return [
        Fact(
            field, value.replace(",", "") if field in INTEGERS else value, text.strip(), line, scope
        )
    ]


def _phrase_value(phrase: dict[str, Any], found: re.Match[str]) -> str:
    return str(phrase.get("value") or found["value"])


def _without_conflicts(facts: list[Fact]) -> list[Fact]:
    fields = [fact.field for fact in facts]
    return [fact for fact in facts if fields.count(fact.field) == 1]


def _sizes_in(text: str) -> Iterator[tuple[str, float]]:
    rest = re.sub(r"\b\d+(?:\.\d+)?\s?[BT]\s+tokens", " ", text)
    while found := find_size(rest):
        yield found
        rest = rest[rest.index(found[0]) + len(found[0]) :]


def _lone_size(token: str) -> str | None:
    found = find_size(token)
    if not found or "=" in token:
        return None
    words = token.replace(found[0], " ").split()
    return (
        found[0] if len(words) <= 3 and not any(re.search(r"\d", word) for word in words) else None
    )


def _tokens(body: str) -> Iterable[str]:
    opened = re.match(r"^(?P<head>[^=(]*?)(?::\s|\s*\()(?P<rest>.*)$", body)
    parts = re.split(r"[,;|]|\s/\s", body)
    if opened and find_size(opened["head"]):
        parts = [opened["head"], *re.split(r"[,;|]|\s/\s", opened["rest"].rstrip(")"))]
    cleaned = (
        re.sub(r"\((?:for\s+)?(?:the\s+)?above(?:,?\s*too)?\s*\)", "", part, flags=re.I).strip()
        for part in parts
    )
    return [re.sub(r"^all\s+", "", part, flags=re.I) for part in cleaned if part]


def _token_facts(token: str, text: str, line: int) -> list[Fact] | None:
    """Facts of one part of a configuration line; None when the part is something else."""
    count, steps = _COUNT_OF.match(token), _STEPS.match(token)
    if count:
        field = "nodes" if count["nodes"] else "dp"
        return [Fact(field, count[field], text.strip(), line, "line")]
    if steps:
        scale = {"k": 1e3, "m": 1e6}.get((steps["scale"] or "").lower(), 1)
        number = float(steps["number"].replace(",", "")) * scale
        return [Fact("steps", str(round(number)), text.strip(), line, "line")]
    pair = _ARGUMENT.match(token) or _KEY_VALUE.match(token)
    if not pair:
        return None
    field = _file()["keys"].get(re.sub(r"[^a-z]", "", pair["key"].lower()))
    if field is None:
        return None
    return _typed(field, pair["value"], text, line)


def _typed(field: str, value: str, text: str, line: int) -> list[Fact] | None:
    plain = value.replace(",", "").replace("_", "")
    if field in INTEGERS and integer(plain) is None:
        # `VOCAB_LENGTH=250k` is a rounded label, not a size.
        rounded = re.fullmatch(r"\d+(?:\.\d+)?[kKmM]", plain)
        return [Fact(f"{field}_label", value, text.strip(), line, "line")] if rounded else None
    return [Fact(field, plain if field in INTEGERS else value, text.strip(), line, "line")]


def _device_name(found: re.Match[str]) -> str:
    device = device_of(found["device"])
    name = device.family if device else found["device"]
    form = f"-{found['form'].upper()}" if found["form"] else ""
    return f"{name}{form}-{found['memory']}GB" if found["memory"] else f"{name}{form}"


@cache
def _phrases() -> tuple[dict[str, Any], ...]:
    return tuple(
        {**phrase, "regex": re.compile(phrase["pattern"], re.I)} for phrase in _file()["phrase"]
    )


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((files(__package__ or "bench.ingest") / "context.toml").read_text("utf-8"))
