"""Families of models that a text names: what is said of T5 is not said of BERT."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .fact import Fact

_FAMILY = re.compile(
    r"(?<![A-Za-z])(?P<name>(?:Ro|De|Al|AL|Distil|Mega|Modern)?BERT|bert"
    r"|GPT-?(?:J|Neo)|GPT|gpt|(?:Code)?[Ll][Ll]a[Mm][Aa]"
    r"|Qwen|qwen|Mistral|Mixtral|Gemma|gemma|DeepSeek|Falcon|BLOOM|OPT|(?:[Ff]lan-?|m)?T5|BART"
    r"|ViT|ResNet|resnet"
    r"|Swin|U-?Net|Stable Diffusion|SDXL|Whisper|wav2vec|CLIP|ELECTRA|XLNet|PaLM|(?:Chat)?GLM"
    r"|Baichuan|InternLM"
    r"|Pythia|MPT|StarCoder|DLRM|Mamba|RWKV|Grok|Nemotron)(?![a-z])"
)
_OF_A_MODEL = frozenset(("size", "params_b", "layers", "hidden", "heads", "kv_heads", "ffn_hidden"))


def families_in(text: str) -> frozenset[str]:
    """The families that a text names, in small letters and without versions."""
    return frozenset(
        re.sub(r"[\W_]", "", found["name"].lower()) for found in _FAMILY.finditer(text)
    )


def without_other_families(
    facts: Iterable[Fact], headings: Sequence[tuple[int, str]]
) -> list[Fact]:
    """The facts without those of a model of another family than the innermost heading names.

    `headings`: line and text of each, outermost first; what stands below the heading is of it.
    """
    named = [(line, found) for line, text in headings if (found := families_in(text))]
    if not named:
        return list(facts)
    line, families = named[-1]
    return [
        one
        for one in facts
        if one.field not in _OF_A_MODEL
        or one.line >= line
        or not (said := families_in(one.raw))
        or said & families
    ]
