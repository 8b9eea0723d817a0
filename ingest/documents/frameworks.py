"""The frameworks in a text, and those that it states as used for its results."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...vocabulary.sizes import find_size
from .fact import Fact
from .model_families import families_in
from .unlisted_framework import tool_used

_NAMES = (
    r"megatron(?:-deepspeed|[ -](?:lm|core|bridge))?|deepspeed(?:[ -]?chat)?|hf|hugging ?face|nemo"
    r"|torchtitan|torchtune|nanotron|gpt-neox|colossal-?ai|fsdp|prime-rl|maxtext|litgpt|levanter|internevo|xtuner|axolotl"
    r"|llama-factory|mindspeed(?:-llm)?|mindformers|paddlenlp|unsloth|composer|llm-foundry|verl|ms-swift|primus"
    r"|olmo-core|openrlhf|nanogpt|nanochat|picotron|vescale|flagscale|neuronx-distributed|easylm|t5x|bmtrain"
    r"|axonn|nemo-rl|llm\.c|oneflow|paxml|trl|mlx(?:-lm)?|fairseq|metaseq|lit-gpt|megablocks|mindspore|veomni"
    r"|nemo[ -]automodel|automodel"
)
_END = r"(?![\w-])"
# A heading of nothing but frameworks: `Megatron + Deepspeed 3D (new branch)`.
_FRAMEWORK = re.compile(
    rf"(?:{_NAMES})(?![\w-])(?:\s+(?!(?:from|for|in|on|to|as|is|vs|versus|at)\b)[\w.]{{1,20}}){{0,3}}"
    r"(?:\s*\([^()]{1,40}\))?",
    re.I,
)
# `NeMo Performance Summary` is of NeMo.
_OF_DOCUMENTS = frozenset(
    re.findall(
        r"\w+",
        "performance summary benchmark benchmarks benchmarking result results report overview guide"
        " training numbers tutorial documentation docs table tables experiments readme study log"
        " sweep sweeps ablation ablations runs matrix profile baseline baselines"
        " throughput scaling speed efficiency comparison notes pretraining release announcement"
        " pretrain finetune finetuning sft lora llm llms model models"
        " gpt gpt2 gpt3 bert llama llama2 llama3 qwen qwen2 qwen3 t5 mixtral mistral",
    )
)
# `8.4 Megatron-LM training (5 configs, seq=4096, bf16)`
_AROUND = re.compile(
    r"^1?\d(?:\.1?\d){0,3}\.?\s+"  # no release: `26.02 NeMo Container`
    r"|\s(?:training|benchmarks?|results?|performance|runs?)\s\([^()]{0,40},[^()]{0,200}\)$",
    re.I,
)
_NAMED = re.compile(rf"(?<![\w-])(?:{_NAMES}){_END}", re.I)
_RESULTS_OF = re.compile(
    r"\b(?:results?|benchmarks?|performance|numbers)\b[^.]{0,80}?\b(?:for|of|by|using|with)\s+(?:the\s+)?[`*]{0,2}"
    rf"(?P<name>{_NAMES})(?![\w-])|(?<![\w-])(?P<owner>{_NAMES})'s\s+(?:\w+\s+){{0,3}}?"
    r"(?:results?|benchmarks?|performance|numbers|test data|throughput)\b",
    re.I,
)
# Parts and hubs that many frameworks use.
_NO_TRAINERS = frozenset(("fsdp", "hf", "hugging face", "huggingface", "composer"))
_WITH = re.compile(r"([^,;(]{1,80}?)(\s(?:with|using|on)\s)([^,;(]{1,80})", re.I)
_WITHIN = re.compile(r"\s(?:with|using)\s", re.I)
_STAGE = re.compile(r"\bzero[ _-]?(?:stage[ _-]?)?[0-3]\b", re.I)
# In `CANN 8.3 + PyTorch 2.5` PyTorch is part of what a trainer runs on.
_LIBRARY = re.compile(r"(?:PyTorch|JAX)\s", re.I)
_BELOW_IT = re.compile(
    r"(?<![\w-])(?:CANN|CUDA|ROCm|cuDNN|NCCL|Python|torch[_-]npu|driver)[\s:=*`v]{0,6}\d", re.I
)
_MADE_WITH = re.compile(
    rf"(?:^\W{{0,6}}|\b(?:using|with|in|on|via|by|inside|of|frameworks?|software|container|image|stack|librar(?:y|ies)"
    rf"|trainer|codebase|backend)\b[\s:=*`\[]{{0,6}}(?:the\s|our\s|nvidia(?:'s)?\s){{0,2}}[`*\[]{{0,3}})"
    rf"(?P<name>{_NAMES}){_END}(?:[`*\s]{{1,3}}v?(?P<version>\d+(?:\.\w+)+))?",
    re.I,
)


def frameworks_heading(text: str, line: int) -> list[Fact]:
    """The frameworks at the beginning of a heading; additions are none (`+ offload`)."""
    about = _WITHIN.split(text, maxsplit=1)  # `VERL Experiments with GRPO`
    name = about[0] if about[1:] and not frameworks_in(about[1]) else text
    words = _AROUND.sub("", name).split()
    while words and (words[-1].strip(".:").lower() in _OF_DOCUMENTS or not words[-1].isascii()):
        words.pop()
    parts = [part.strip() for part in " ".join(words).split("+")]
    known = [part for part in parts if _FRAMEWORK.fullmatch(part)]
    if not known or parts[: len(known)] != known:
        return []
    return [Fact("framework", " + ".join(known), text.strip(), line, "heading")]


def frameworks_in(text: str) -> list[str]:
    """The frameworks that a text names."""
    return [match[0] for match in _NAMED.finditer(text)]


def is_of_stack(name: str, text: str) -> bool:
    """Whether a text lists a library with the versions of what it runs on."""
    return bool(_LIBRARY.match(name) and _BELOW_IT.search(text))


def trainers_in(text: str) -> set[str]:
    """The frameworks that a text names, without parts that many of them use, in small letters."""
    return {name.lower() for name in frameworks_in(text)} - _NO_TRAINERS


def trainer_alone(text: str) -> str | None:
    """The trainer that a cell names and nothing else: `**torchtitan**`, `Megatron-LM`."""
    name = text.strip("*`_ ")
    known = _FRAMEWORK.fullmatch(name) and trainers_in(name)
    return name if known else None


def heading_of(names: Iterable[str]) -> str:
    """The heading of a column of such names: Framework, or Technique for parts that many use."""
    parts = all(name.lower() in _NO_TRAINERS for name in names)
    return "Technique" if parts else "Framework"


def model_apart(label: str) -> tuple[str, str | None]:
    """The label of a model without the trainers in it, and these trainers.

    `megatron bert 345m with deepspeed zero3`: the other words stay, to distinguish rows.
    """
    match = _WITH.fullmatch(label)
    head, joint, tail = match.groups() if match else (label, "", "")
    first = _NAMED.match(head)
    own = head[first.end() :].strip() if first else head
    others = [name for name in frameworks_in(tail) if name.lower() not in _NO_TRAINERS]
    names = [*([first[0]] if first else []), *others]
    if not names or find_size(own) is None or not families_in(own):
        return label, None
    rest = _NAMED.sub(" ", _STAGE.sub(" ", tail)).strip("+ ") if others else tail
    return f"{own}{joint}{rest}" if rest else own, " + ".join(names)


def framework_of(text: str, line: int) -> list[Fact]:
    """The framework of the results, as the opening of a document states it."""
    every = (match["name"] or match["owner"] for match in _RESULTS_OF.finditer(text))
    names = {name.lower(): name for name in every}
    if len(names) != 1:
        return []
    return [Fact("framework", names.popitem()[1], text.strip(), line, "document")]


def begins_with_trainer(text: str) -> bool:
    """Whether an item begins with a framework's name and its version or commit."""
    match = _NAMED.match(text.lstrip(" *`["))
    after = text.lstrip(" *`[")[match.end() :] if match else ""
    return bool(re.match(r"[*`\])\s]{1,4}v?(?=[\w.]*\d)[\w.]{2,40}", after))


def framework_named(text: str, line: int) -> list[Fact]:
    """The framework, with version, that a sentence or an item states as used for runs."""
    every = trainers_in(text)
    if not every and (own := tool_used(text)):
        return [Fact("framework", own, text.strip(), line, "document")]
    match = next((one for one in _MADE_WITH.finditer(text) if one["name"].lower() in every), None)
    alone = {name for part in text.split(",") if (name := trainer_alone(part.rstrip(". ")))}
    if len(every) == 1 and not match and len(alone) == 1:  # `bf16, Megatron-LM, GBS 1024`
        return [Fact("framework", alone.pop(), text.strip(), line, "document")]
    if len(every) != 1 or match is None:
        return []
    value = f"{match['name']} {match['version']}" if match["version"] else match["name"]
    return [Fact("framework", value, text.strip(), line, "document")]
