"""The charts of answers by name, and the line below them with the sources of their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..project.short_names import ShortNames
from ..vocabulary.format import counted
from .answer import Answer
from .chart_parts import ChartDraft
from .day_charts import days, pareto
from .pair_charts import effects, efficiency
from .rank_charts import memory, mfu, tflops


def footer(sources: Mapping[str, str], picture: ChartDraft, left_out: int, version: str) -> str:
    """The sources of a chart's numbers: sources with digests, exclusions, version."""
    used: dict[str, list[int]] = {}
    for row in picture.rows:
        for where in (row["where"], row.get("where_base")):
            if where:
                uri, _, line = where.rpartition(":")
                used.setdefault(uri, []).append(int(line))
    sources_used = []
    for uri, lines in sorted(used.items()):
        digest = sources.get(uri, "?")[:12]
        sources_used.append(f"{uri.rsplit('/', 1)[-1]}:{min(lines)}-{max(lines)} (sha256 {digest})")
    more = f" and {len(sources_used) - 3} more" if len(sources_used) > 3 else ""
    left = f" {counted(left_out, 'run')} excluded." if left_out else ""
    cut = f"{picture.note} " if picture.left else ""
    return f"{cut}{'; '.join(sources_used[:3])}{more}.{left} bench {version}"


PICTURES: dict[str, Callable[[ShortNames, Answer], ChartDraft]] = {
    "effects": effects, "efficiency": efficiency, "pareto": pareto, "days": days,
    "tflops": tflops, "mfu": mfu, "memory": memory,
}  # fmt: skip
NAMES = (*PICTURES, "steps", "loss")
