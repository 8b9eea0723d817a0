"""Derivations as nested lists with links to lines."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape

from ..explain.tree import Node
from ..vocabulary.format import params, significant
from .facts import title_of, value_text
from .load import Content
from .run_table import share_words

_SHARES = ("mfu", "hfu")  # written as percentages
_INPUTS, _DEEPEST = 6, 4  # of a derivation as data


def derivation(content: Content, node: Node, root: str, title: str = "") -> Markup:
    """A number that unfolds into its formula, inputs, and their lines."""
    title = title or title_of(node.name)
    unit = shown_unit(node, title)
    unit_text = f" {escape(unit)}" if unit else ""
    value = escape(content.text.line(rounded(node), 200))
    return Markup(
        f'<details id="n-{escape(node.name)}"><summary>{escape(title)} {_bold(node, value)}'
        f'{unit_text}</summary><ul class="tree">{_branch(content, node, root)}</ul></details>'
    )


def _bold(node: Node, value: str) -> Markup:
    """A value, in italics if it is computed."""
    return Markup(f'<b class="computed">{value}</b>' if node.how else f"<b>{value}</b>")


def rounded(node: Node) -> str:
    """A computed value with its significant digits; its inputs below have all digits."""
    if node.name in _SHARES and isinstance(node.value, float):
        return share_words(node.value, not node.how)
    if node.name.startswith("params") and isinstance(node.value, (int, float)):
        return params(node.value)
    if node.how and isinstance(node.value, float):
        return significant(node.value, 4)
    return value_text(node.value)


def shown_unit(node: Node, title: str) -> str:
    """The unit after a number under this title."""
    return "" if node.name in _SHARES else _beyond(title, node.unit or "")


def _beyond(title: str, unit: str) -> str:
    """The words of a unit that a title does not have: `of a process` beside `Model TFLOP/s`."""
    heading = title.lower().split()
    return " ".join(word for word in unit.split() if word.lower() not in heading)


def _branch(content: Content, node: Node, root: str) -> str:
    # Not a Jinja macro: with forty nodes per run that took a third of the build.
    line = content.text.line
    value = line(value_text(node.value), 200)
    parts = [f'<li><span class="what">{escape(line(node.name.replace("_", " "), 80))}</span>']
    if value:
        parts.append(f" = {_bold(node, escape(value))} {escape(node.unit or '')}")
    if node.low is not None and node.high is not None and node.low != node.high:
        parts.append(_note(f"({value_text(node.low)} to {value_text(node.high)})"))
    parts.append(_place(content, node, root))
    if node.note:
        parts.append(_note(line(content.names.within(node.note), 300)))
    if how := node.how:
        formula = f"{how.formula}: " if how.formula else ""
        title = _note(line(how.title)) if how.title else ""
        parts.append(f'<div class="how">= {escape(line(formula + how.expression))}{title}</div>')
    if node.inputs:
        parts.append(f"<ul>{''.join(_branch(content, one, root) for one in node.inputs)}</ul>")
    return "".join(parts) + "</li>"


def steps(content: Content, node: Node, depth: int = 0) -> list[Any]:
    """A derivation as data of pages: text, formula, place, link, text there, and its inputs."""
    line, place, how = content.text.line, node.place, node.how
    value = rounded(node) if not depth else value_text(node.value)
    name = title_of(node.name) if not depth else node.name.replace("_", " ")
    words = f"{name} = {value} {node.unit or ''}".rstrip() if value else name
    formula = f"{how.formula}: " if how and how.formula else ""
    raw = place.raw if place and place.raw and place.raw != str(node.value) else ""
    inputs = node.inputs[:_INPUTS] if depth < _DEEPEST else ()
    note = content.names.within(node.note or "")
    return [
        line(words, 200),
        line(f"= {formula}{how.expression}") if how else line(note, 300),
        line(content.names.at(place.uri, place.line), 120) if place else "",
        (content.line_href(place.uri, place.line) or "") if place else "",
        line(raw, 200),
        [steps(content, one, depth + 1) for one in inputs],
    ]


def _place(content: Content, node: Node, root: str) -> str:
    """The place of a value, and its text there."""
    place, line = node.place, content.text.line
    if place is None:
        return ""
    at = escape(line(content.names.at(place.uri, place.line), 120))
    href = content.line_href(place.uri, place.line)
    shown = f' <a href="{escape(root + href)}">{at}</a>' if href else f" {at}"
    is_other = place.raw and place.raw != str(node.value)
    return shown + (f" <code>{escape(line(place.raw, 120))}</code>" if is_other else "")


def _note(text: str) -> str:
    return f' <span class="note">{escape(text)}</span>'
