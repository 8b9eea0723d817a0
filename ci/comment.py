"""The comment on a pull request: its markdown, and the same truncated to a size."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..reports import row_diff, row_diff_table
from ..reports.escape import LINK, PUNCTUATION, TAG, markdown_cell
from ..vocabulary.format import counted
from ..vocabulary.printable import typed, visible
from .pages import Page
from .region_page import NOT_RENDERED

_MENTION = re.compile(r"@(?=\w)")
_AT = re.compile(r"&(?=(?:#0*64|#[xX]0*40|commat);)")
_LIVE = re.compile(rf"(?P<kept>\\{PUNCTUATION})|{TAG}|{LINK}|\](?=:)")
_ORDER = re.compile(r"^([ \t>*+-]*+)/", re.M)
COMMENT_LIMIT = 60_000  # bytes; GitHub takes 65,536 characters
SUMMARY_LIMIT = 900_000  # bytes; GitHub takes 1 MiB


def marker(comment_id: str) -> str:
    """The hidden line that identifies our comment."""
    return f"<!-- bench:comment id={comment_id} -->"


def body(pages: Sequence[Page], diff: row_diff.Diff | str, base: str, comment_id: str) -> str:
    """The whole text, marker first; `diff` is a string with the reason where there is none."""
    lines = [marker(comment_id), "### Benchmarks", ""]
    if isinstance(diff, str):
        lines += [f"Rows not compared: {_line(diff)}."]
    else:
        lines += [row_diff_table.markdown(diff).rstrip("\n"), "", f"Compared with {_line(base)}."]
    regions = sum(len(page.document.regions) for page in pages)
    errors = [f"{error.where}: {error.what}" for page in pages for error in page.errors]
    stale = [f"{page.name}:{one.begin} {one.title}" for page in pages for one in page.stale]
    charts = [f"{chart.file}" for page in pages for chart in page.stale_charts]
    for what, found in (("broken", errors), ("stale", stale)):
        if found:
            lines += ["", f"**{counted(len(found), 'region')} {_are(found)} {what}:**", ""]
            lines += [f"- {_line(one)}" for one in found]
    if charts:
        lines += ["", f"**{counted(len(charts), 'chart')} {_are(charts)} stale:**", ""]
        lines += [f"- {_line(chart)}" for chart in charts]
    unchecked = sum(len(page.unchecked) for page in pages)
    if unchecked:
        lines += ["", f"{counted(unchecked, 'region')} not checked: {NOT_RENDERED}."]
    if regions > unchecked and not (errors or stale or charts):
        lines += ["", f"{counted(regions - unchecked, 'region')} up to date."]
    text = without_mentions(visible("\n".join(lines))) + "\n"
    if stale or charts:  # a command to copy, unchanged: mentions do not work inside code
        names = sorted({page.name for page in pages if page.is_stale})
        command = _code(visible(f"bench report --update {' '.join(map(typed, names))}"))
        text += f"\n{command} writes them anew.\n"
    return text


def without_mentions(text: str) -> str:
    """The text without mentions: a log or table must not notify anybody."""
    return _AT.sub("&amp;", _MENTION.sub("@\u200b", text))


def untrusted_comment(text: str) -> str:
    """A comment saved by an unprivileged job, reduced to text and tables.

    It has no link, no picture, no HTML but the marker that it begins with, and no line that is a
    command to a robot. What looks like code may be none, so the same holds there.
    """
    begin, end, rest = text.partition("-->")
    rest = _LIVE.sub(lambda match: match["kept"] or f"\\{match[0]}", visible(rest))
    return without_mentions(begin + end + _ORDER.sub(r"\1\/", rest))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _are(found: Sequence[str]) -> str:
    return "is" if len(found) == 1 else "are"


def _line(text: str) -> str:
    """The text on one line: a line of its own could be a command to the host."""
    return markdown_cell(" ".join(text.split()))


def _code(text: str) -> str:
    return f"`{' '.join(text.split()).replace('`', '')}`"


def cut(text: str, limit: int, rest: str) -> str:
    """The text, or its first lines within `limit` bytes and a note on the rest.

    Rows stay whole; a table keeps its head and at least one row, or is left out.
    """
    if _size(text) <= limit:
        return text
    lines = text.split("\n")
    note = f"\n*Cut here: {{}} more lines. {rest}*\n"
    room = limit - _size(note) - 12
    kept: list[str] = []
    size = 0
    for line in lines:
        if size + _size(line) + 1 > room:
            break
        kept.append(line)
        size += _size(line) + 1
    table = 0
    while table < len(kept) and kept[-1 - table].startswith("|"):
        table += 1
    if table in (1, 2):
        kept = kept[:-table]
    return "\n".join(kept) + "\n" + note.format(len(lines) - len(kept))
