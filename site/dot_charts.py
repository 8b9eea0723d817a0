"""Charts of dots in rows, in shares of the width: labels stay readable at any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from . import svg
from .svg import Mark

_ROW, _TOP, _BELOW = 20, 8, 44  # pixels
_NARROW, _LETTER = 358, 6.6  # pixels: a figure on a phone, and a letter of its labels
_MOST = 0.48  # of the width, for labels
_FITS, _FITS_WIDE = int(_MOST * _NARROW / _LETTER) + 1, 40  # letters, on a phone into the margin


@dataclass(frozen=True, slots=True)
class DotRow:
    """A labelled dot with its value as text; without a mark, the heading of the rows below."""

    label: str
    mark: Mark | None = None
    text: str = ""


def dot_rows(
    id: str,
    rows: Sequence[DotRow],
    title: str,
    root: str,
    *,
    ideal: float | None = None,
    log: bool = False,
    text: Callable[[float], str] | None = None,
) -> Markup:
    """The rows as SVG, each dot at the x of its mark; `ideal` is a dashed line across them."""
    marks = [row.mark for row in rows if row.mark]
    ends = [end for one in marks for end in (one.x, one.low, one.high) if end is not None]
    ends += [] if ideal is None else [ideal]
    # In percent of the lane, which is a drawing within the drawing.
    x = svg.axis(ends, 0.0, 100.0, log=log, most=5, text=text)
    bottom = _TOP + len(rows) * _ROW
    parts = [
        _line(x.at(value), bottom, "rule") + _words(x.at(value), bottom + 16, tick)
        for value, tick in x.ticks
    ]
    parts += [] if ideal is None else [_line(x.at(ideal), bottom, "ideal")]
    parts.append(_words(50, bottom + 36, title, "name"))
    left = _left([row.label for row in rows if row.mark])
    names = []
    heads = Counter(label[: _FITS - 1] for label in {row.label for row in rows if row.mark})
    for at, row in enumerate(rows):
        y = _TOP + (at + 0.5) * _ROW
        if row.mark is None:
            names.append(svg.words(4, y + 4, row.label, "group"))
        else:
            is_apart = heads[row.label[: _FITS - 1]] == 1
            parts.append(_row(row, row.mark, _label(row.label, is_apart), x, y, root))
    width = (0.85 if any(row.text for row in rows) else 0.97) - left
    return Markup(
        f'<svg role="group" class="rows" aria-labelledby="{id}-caption" width="100%" '
        f'height="{bottom + _BELOW}">{"".join(names)}<svg class="lane" x="{left:.1%}" y="0" '
        f'width="{width:.1%}" height="100%">{"".join(parts)}</svg></svg>'
    )


def _left(labels: Sequence[str]) -> float:
    """The share of the width that the labels of dots need."""
    longest = max(map(len, labels), default=0)
    return min((_LETTER * longest + 14) / _NARROW, _MOST)


def _row(row: DotRow, mark: Mark, label: str, x: svg.Axis, y: float, root: str) -> str:
    """A label, a dot with its interval, and its value to the right of the lane."""
    at, whisker = x.at(mark.x), ""
    if mark.low is not None and mark.high is not None:
        low, high = (x.at(end) - at for end in (mark.low, mark.high))
        whisker = f'<line class="whisker" x1="{low:.1f}%" y1="0" x2="{high:.1f}%" y2="0"/>'
    dot = svg.mark(mark, 0, 0, root, whisker)
    value = _words(100, y + 4, row.text, side="start") if row.text else ""
    return (
        f'<text class="tick" x="-10" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        + f'<svg class="lane" x="{at:.1f}%" y="{y:.1f}" width="100%">{dot}</svg>{value}'
    )


def _label(text: str, is_apart: bool) -> str:
    """A label; of a long one the end is left out, on a phone of any that is longer than fits. If
    others begin as it does, `is_apart` is false and its middle is left out."""
    text = text if len(text) <= _FITS_WIDE else _cut(text, _FITS_WIDE, is_apart)
    if len(text) <= _FITS:
        return str(escape(text))
    first, last = _ends(_FITS, is_apart)
    far, end = escape(text[first : len(text) - last]), escape(text[len(text) - last :])
    return (
        f'{escape(text[:first])}<tspan class="far">{far}</tspan><tspan class="near">…</tspan>{end}'
    )


def _cut(text: str, fits: int, is_apart: bool) -> str:
    first, last = _ends(fits, is_apart)
    return f"{text[:first]}…{text[len(text) - last :]}"


def _ends(fits: int, is_apart: bool) -> tuple[int, int]:
    """How many letters of the beginning and of the end stay."""
    return (fits - 1, 0) if is_apart else (fits // 2, fits - fits // 2 - 1)


def _line(at: float, bottom: float, look: str) -> str:
    return f'<line class="{look}" x1="{at:.1f}%" y1="{_TOP}" x2="{at:.1f}%" y2="{bottom}"/>'


def _words(at: float, y: float, text: str, look: str = "tick", side: str = "middle") -> str:
    return (
        f'<text class="{look}" x="{at:.1f}%" y="{y:.1f}" text-anchor="{side}">{escape(text)}</text>'
    )
