"""Names of models with mixtures of experts: a token uses a part of their parameters."""

from __future__ import annotations

import re
from functools import cache

# Notations within names: `2.7B-MoE`, `8x7B`, `30B-A3B`, `17B-16E`.
_FORMS = (r"moe", r"\d\s?[x×]\s?\d+(?:\.\d+)?[BM]", r"[-_ ]A\d+(?:\.\d+)?[BM]", r"\d[BM]-\d+E")
# Families without such a notation, each by its technical report or model card.
_FAMILIES = (
    r"mixtral",  # 2401.04088
    r"deepseek[-_ ]?v[23]",  # 2405.04434, 2412.19437
    r"deepseek[-_ ]?r1(?:$|[-_ ]?(?:zero|0528|671b))",  # 2501.12948; what is distilled is dense
    r"gpt[-_ ]?oss",  # 2508.10925
    r"kimi[-_ ]?k2",  # 2507.20534
    r"qwen[-_ ]?3[-_ ]?(?:next|235b|30b|coder[-_ ]480b)",  # 2505.09388
    r"qwen[-_ ]?2[-_ ]?57b",  # 2407.10671
    # Not 40B, 405B or 4.1 of something: the number of the family ends here.
    r"llama[-_ ]?4(?:$|[^\d.bm])",  # ai.meta.com/blog/llama-4-multimodal-intelligence
    r"glm[-_ ]?4\.[567](?:$|[^\d.bm])",  # 2508.06471
    r"grok[-_ ]?[12](?:$|[^\d.bm])",  # github.com/xai-org/grok-1
    r"ernie[-_ ]?4\.5[-_ ]?(?:300b|424b|21b|28b)",  # yiyan.baidu.com/blog/publication
    r"minimax[-_ ]?(?:text|m1|m2)",  # 2501.08313
    r"hunyuan[-_ ]?large",  # 2411.02265
    r"snowflake[-_ ]?arctic",  # github.com/Snowflake-Labs/snowflake-arctic
    r"dbrx",  # github.com/databricks/dbrx
    r"jamba",  # 2403.19887
    r"moonlight",  # 2502.16982
    r"switch[-_ ]?(?:transformer|base|large|xxl)",  # 2101.03961
)


def experts_pattern() -> str:
    """A case-insensitive pattern for names of such models, in the common syntax with DuckDB."""
    return "|".join((*_FORMS, *_FAMILIES))


def has_experts(name: str) -> bool:
    """Whether the name of a model implies experts."""
    return bool(_pattern().search(name))


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(experts_pattern(), re.I)
