"""Names in charts: literal, measured, wrapped, shortened."""

import re
from functools import lru_cache

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties, findfont, get_font

from ...vocabulary.printable import terminal
from .style import DPI, WIDTH, points

LINE = 1.3  # line height
_PART = re.compile(r".*[_/,;=.-]")  # a part of a long name, up to its last sign
NARROWEST = 0.2  # width of the narrowest letter, in font sizes


@lru_cache(maxsize=1)
def _glyphs() -> frozenset[int]:
    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


def clean(text: str) -> str:
    """The text on one line, with a mark for each character that the font lacks."""
    line = " ".join(terminal(text).split())
    return "".join(c if ord(c) in _glyphs() else "\ufffd" for c in line)


@lru_cache(maxsize=1)
def _renderer() -> RendererAgg:
    return RendererAgg(WIDTH, 100, DPI)  # type: ignore[no-untyped-call]  # untyped there


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """The width of one line of text in pixels."""
    font = FontProperties(family="DejaVu Sans", size=points(size))
    measure = _renderer().get_text_width_height_descent
    return float(measure(text, font, ismath=False)[0])  # type: ignore[no-untyped-call]  # untyped there


def wrapped(text: str, size: float, width: float, lines: int) -> list[str]:
    """The text in at most this many lines of a width, shortened in its middle if needed."""
    text = clean(text)
    found = _break(text, size, width)
    keep = min(len(text), int(lines * width / (size * NARROWEST)) + 1)
    while len(found) > lines:
        keep -= 1
        # Names of settings tend to differ at both ends.
        found = _break(f"{text[: keep - keep // 2]}…{text[len(text) - keep // 2 :]}", size, width)
    return found


def _break(text: str, size: float, width: float) -> list[str]:
    lines: list[str] = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, size) <= width:
            lines[-1] = longer
            continue
        lines += [""] if lines[-1] else []
        *full, last = _pieces(word, size, width)
        lines[-1:] = [*full, last]
    return lines


def _pieces(word: str, size: float, width: float) -> list[str]:
    """One word in pieces that fit, split after a sign if there is one in the second half."""
    pieces = [""]
    for character in word:
        if pieces[-1] and text_width(pieces[-1] + character, size) > width:
            whole = _PART.match(pieces[-1])
            rest = pieces[-1][whole.end() :] if whole else ""
            if rest and 2 * len(rest) < len(pieces[-1]):
                pieces[-1:] = [pieces[-1][: -len(rest)], rest]
            else:
                pieces.append("")
        pieces[-1] += character
    return pieces
