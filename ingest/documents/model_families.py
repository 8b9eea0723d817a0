"""Families of models in a text: facts about T5 do not apply to BERT."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...vocabulary.prefilter import HintedPattern
from .fact import Fact

_NAMES = (
    r"(?:Ro|De|Al|AL|Distil|Mega|Modern)?BERT|bert"
    r"|GPT-?(?:J|Neo)|GPT|gpt|(?:Code)?[Ll][Ll]a[Mm][Aa]"
    r"|Qwen|qwen|Mistral|Mixtral|Gemma|gemma|DeepSeek|Falcon|BLOOM|OPT|(?:[Ff]lan-?|m)?T5|BART"
    r"|ViT|ResNet|resnet"
    r"|Swin|U-?Net|Stable Diffusion|SDXL|Whisper|wav2vec|CLIP|ELECTRA|XLNet|PaLM|(?:Chat)?GLM"
    r"|Baichuan|InternLM"
    r"|Pythia|MPT|StarCoder|DLRM|Mamba|RWKV|Grok|Nemotron"
)
_FAMILY = HintedPattern(rf"(?<![A-Za-z])(?P<name>{_NAMES})(?![a-z])")
# `bert-large-uncased`, `GPT-2`, `Llama 3`: a family alone is no model.
_MODEL = HintedPattern(
    rf"(?<![\w./-])(?:[\w.]{{1,20}}/)?(?P<name>[A-Za-z]{{0,8}}(?:{_NAMES})"
    r"(?:[ -]?v?\d{1,2}(?:\.\d{1,2})?(?![\w.]*\d))?(?:-[A-Za-z][A-Za-z0-9.]{0,15}){0,4})"
    r"(?![\w/-]|\.\w)(?![`*]{0,2}(?:'s)?\s(?:style|like|tokeni[sz]er|vocab\w*|BPE|papers?|authors?"
    r"|dataset|recipe|architecture))"
)
_FAR = 80  # characters before a name that show its role
_THE = r"(?:(?:the|a|an|our|open|full|base|model)\s){0,3}[`*_(\[]{0,4}$"
_ANOTHER = re.compile(
    rf"(?<![a-z])(?:by|from|of|with|against|like|than|vs\.?|via|to|as)\s{_THE}", re.I
)
# `fine-tuning of GPT-2`, `Model: Llama 3`, `Tested on a V100 using bert-base`
_TRAINED = re.compile(
    r"(?:(?<![a-z])(?:pre-?|re-?)?(?:train|fine-?tun)(?:e|ed|ing|s|es)?\s(?:of\s)?"
    r"|(?<![a-z])(?:benchmarks?|results?|performance|throughput)\s(?:of|for|with)\s"
    r"|(?<![a-z])model\s?[:：]\W{0,4}"
    rf"|(?<![a-z])(?:tested|benchmarked|measured)\s[^.;]{{0,40}}\susing\s){_THE}",
    re.I,
)
_KINDS = frozenset(
    ("base", "small", "medium", "large", "xl", "xxl", "tiny", "mini", "huge", "uncased", "cased")
)
_OF_A_MODEL = frozenset(("size", "params_b", "layers", "hidden", "heads", "kv_heads", "ffn_hidden"))


def families_in(text: str) -> frozenset[str]:
    """The families that a text names, in small letters and without versions."""
    return frozenset(
        re.sub(r"[\W_]", "", match["name"].lower()) for match in _FAMILY.finditer(text)
    )


def model_in(text: str, *, is_heading: bool) -> str | None:
    """The model that a text names by family and version or variant, without a size.

    Prose mentions many models: only one that it states to be trained or measured counts.
    """
    named = [
        match
        for match in _MODEL.finditer(text)
        if re.search(r"\d", match["name"]) or _KINDS & set(match["name"].lower().split("-"))
    ]
    if len({found["name"] for found in named}) != 1 or len(families_in(text)) != 1:
        return None
    before = [text[max(0, found.start() - _FAR) : found.start()] for found in named]
    taken = any(_TRAINED.search(words) for words in before) or (
        is_heading and not any(_ANOTHER.search(words) for words in before)
    )
    return named[0]["name"] if taken else None


def without_other_families(
    facts: Iterable[Fact], headings: Sequence[tuple[int, str]]
) -> list[Fact]:
    """The facts without those of a model of another family than the innermost heading names.

    `headings`: line and text of each, outermost first; facts below the heading belong to it.
    """
    named = [(line, found) for line, text in headings if (found := families_in(text))]
    if not named:
        return list(facts)
    line, families = named[-1]
    return [
        fact
        for fact in facts
        if fact.field not in _OF_A_MODEL
        or fact.line >= line
        or not (in_text := families_in(fact.raw))
        or in_text & families
    ]
