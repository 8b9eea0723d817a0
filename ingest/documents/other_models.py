"""Trainings of models that are no language models: of pictures, sound, graphs, fields or robots.

They have steps, samples and memory, too; their rows would rank among those of language models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...vocabulary.headings import columns_of
from ...vocabulary.prefilter import HintedPattern

OTHER = "other models"  # the subject of a document

_OTHER = HintedPattern(
    r"(?<![^\W_])(?:(?:nn)?u-?nets?|res-?net-?\d*|resnext|yolo\w*|(?:r-)?cnns?|conv(?:net|lstm|next)\w*"
    r"|lstms?|gans?|stylegan|nerfs?|gaussian splat\w*|point ?net\W{0,2}|point clouds?|lidar|radar"
    r"|(?:image|object|semantic|instance)[ -](?:classif|segment|detect|restor|generat)\w*"
    r"|segmentation|super-resolution|text-to-(?:image|video|speech)|image ?net|cifar-?\d*|mnist"
    r"|diffusion|denois\w+|tts|vocoders?|hifi-?gan|spectrograms?|speech|phonemes?|audio|sample rate"
    r"|gnns?|graph (?:neural|attention|conv\w*|network|layers?|transformer)\w*|gflow-?nets?|pinns?"
    r"|(?:logistic|linear|ridge)[ _]regression|random[ _]forests?|sklearn|scikit-learn"
    r"|xgboost|lightgbm"
    r"|molecul\w+|robots?|robotics?|mujoco|atari|episod\w*|lerobot|gr00t|beamform\w*"
    r"|signal processing|time[- ]series|forecast\w*|wildfires?|dlrm|recommender)(?![^\W_])"
    r"|(?:images?|imgs?|frames?|clips?)(?:/|[_ ]per[_ ])s(?:ec(?:ond)?)?\b|\d\+?\s?fps\b"
    r"|图像|语音|目标检测|画像|음성",
    re.I,
)
_LANGUAGE = HintedPattern(
    r"(?<![^\W_])(?:v?llms?|vlms?|language[ -]models?|lms?|(?:nano|chat)?gpt\w*|llama\w*|qwen[\w.]*"
    r"|mi[sx]tral\w*|gemma\w*|deep-?seek\w*|(?:ro|distil|al|modern)?bert\w*|t5|opt-\w+|falcon\w*"
    r"|phi-?\d\w*|(?:chat)?glm\w*|pythia\w*|olmo\w*|nemotron\w*|baichuan\w*|internlm\w*|mamba\w*"
    r"|tokens?|tok|tokeni[sz]\w+|perplexity|ppl|bpb|q?lora|sft|dpo|grpo|rlhf|instruct\w*|vocab\w*"
    r"|moe|megatron\w*|context[ -]length|fsdp2?|zero-[123])(?![^\W_])|大模型|语言模型|言語モデル",
    re.I,
)
# How large language models are parallel, and what they alone count.
_OF_LANGUAGE = frozenset(
    {"tp", "pp", "cp", "ep", "vpp", "zero_stage", "tokens_per_s", "tokens_per_s_per_device"}
)
_MOST = 3  # lines about language models in one about others, for one about these


def is_about_others(texts: Iterable[str]) -> bool:
    """Whether a document is about other models than those of language, by most of its lines."""
    others, language = 0, 0
    for text in texts:
        if _LANGUAGE.search(text):
            language += 1
        elif _OTHER.search(text):
            others += 1
    return others > _MOST * language


def is_of_others(headings: Sequence[str], near: Sequence[str], subject: str | None) -> bool:
    """Whether a table is of other models, by the nearest of the texts that tell, else its document.

    A text that names both is about language models that see or hear.
    """
    if any(column and column.name in _OF_LANGUAGE for column in columns_of(headings)):
        return False
    for text in near:
        if _LANGUAGE.search(text):
            return False
        if _OTHER.search(text):
            return True
    return subject == OTHER
