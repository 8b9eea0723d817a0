"""A claim as an SVG badge, and the markdown that embeds it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from ..reports.escape import html, markdown_text
from ..vocabulary.format import number, percent, significant
from .statement import Statement

_SHARE = "share of "  # units shown in percent
_HEIGHT, _CHARACTER, _PAD = 20, 6.4, 7  # pixels, of DejaVu Sans at 11 px


def figure(statement: Statement) -> str:
    """The answer with its unit, for badges and sentences."""
    result = statement.predicate.result
    if result.unit.startswith(_SHARE):
        return f"{percent(result.value, 1)} of {result.unit.removeprefix(_SHARE)}"
    value = number(result.value, 0) if abs(result.value) >= 1000 else significant(result.value, 4)
    return f"{value} {result.unit}".strip()


def sentence(statement: Statement) -> str:
    """The question and its answer."""
    question = statement.predicate.question
    given = f" for {number(question.tokens)} tokens" if question.tokens else ""
    given += f" for {number(question.steps)} steps" if question.steps else ""
    return f"{question}: {figure(statement)}{given}"


def svg(statement: Statement) -> str:
    """The badge: the question on the left, the answer on the right."""
    question = statement.predicate.question
    label = " ".join(filter(None, (question.answer, question.model, question.device)))[:60]
    texts = (label, figure(statement)[:60])
    left, right = (round(len(text) * _CHARACTER) + 2 * _PAD for text in texts)
    title = html(sentence(statement))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}"'
        f' role="img" aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left + right}" height="{_HEIGHT}" rx="3" fill="#1f5f8b"/>'
        f'<path d="M3 0h{left - 3}v{_HEIGHT}H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#444"/>'
        '<g fill="#fff" text-anchor="middle" font-family="DejaVu Sans,Verdana,sans-serif"'
        f' font-size="11"><text x="{left / 2:g}" y="14">{html(texts[0])}</text>'
        f'<text x="{left + right / 2:g}" y="14">{html(texts[1])}</text></g></svg>\n'
    )


def markdown(statement: Statement, badge: Path, claim: Path) -> str:
    """The badge as a link to the claim; both are in the page's folder."""
    alt = markdown_text(sentence(statement))
    return f"[![{alt}]({quote(badge.name)})]({quote(claim.name)})\n"
