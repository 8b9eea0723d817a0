"""Columns of a table headed by the name of an environment variable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from ...vocabulary.cell import Cell
from ...vocabulary.headings import Column, unread_results
from ...vocabulary.settings import Setting, env_kind
from ..logs.environment import is_recorded

_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_DRESS = re.compile(r"</?code>|[`*$†‡\\=]|\[\^[\w-]{1,20}\]|^\s*env(?:\s|:)|\((?:env)\)\s*$", re.I)
_OFF = re.compile(r"-*|–|—|none|null|n/?a|(?:un|not )set|not used", re.I)
# Words of counts, measurements and labels: no setting of a run.
_NO_SETTING = frozenset(
    re.findall(
        r"\w+",
        "ID JOB RUN DATE TIME ELAPSED SECONDS SECS MS LOSS PPL PERPLEXITY ACCURACY WATTS UTIL"
        " UTILIZATION EFFICIENCY SPEEDUP COST MFU HFU TFLOPS FLOPS TOKENS SAMPLES STATUS NOTES"
        " COMMENT REMARK RESULT",
    )
)


@cache
def variable_of(heading: str) -> str | None:
    """The variable that a heading names: a known one, or upper-case words joined by underscores
    that name no result."""
    name = _DRESS.sub("", heading).strip()
    if not _NAME.fullmatch(name):
        return None
    if is_recorded(name):
        return name
    return None if _NO_SETTING & set(name.split("_")) or unread_results([name]) else name


def flags_in(
    headings: Sequence[str], columns: Sequence[Column | None], cells: Sequence[Cell]
) -> Iterator[Setting]:
    """The flags in the cells under such headings; an empty cell: not set."""
    for heading, column, cell in zip(headings, columns, cells, strict=False):
        if column is None and (name := variable_of(heading)):
            yield Setting(name, _value(name, cell.raw), env_kind(name))


def _value(name: str, raw: str) -> str | None:
    text = raw.strip().strip("`").strip().removeprefix(f"{name}=")
    return None if _OFF.fullmatch(text) else text
