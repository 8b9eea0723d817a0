"""What a pull request is told: one markdown text, and the same cut to a size."""

from __future__ import annotations

from collections.abc import Sequence

from ..reports import rowdiff, rowtable
from ..reports.escape import markdown_text, visible
from .pages import Page

COMMENT_LIMIT = 60_000  # characters; GitHub takes 65,536
SUMMARY_LIMIT = 900_000  # GitHub takes 1 MiB


def marker(comment_id: str) -> str:
    """The hidden line by which our comment is found again."""
    return f"<!-- bench:comment id={comment_id} -->"


def body(pages: Sequence[Page], diff: rowdiff.Diff | None, base: str, comment_id: str) -> str:
    """The whole text, the marker first."""
    lines = [marker(comment_id), "### Benchmarks", ""]
    if diff is None:
        lines += ["No base to compare with.", ""]
    else:
        lines += [rowtable.markdown(diff).rstrip("\n"), "", f"Compared with {markdown_text(base)}."]
    regions = sum(len(page.document.regions) for page in pages)
    stale = [(page, region) for page in pages for region in page.stale]
    errors = [error for page in pages for error in page.errors]
    if errors:
        lines += ["", f"**{len(errors)} regions are broken:**", ""]
        lines += [f"- {markdown_text(f'{error.where}: {error.what}')}" for error in errors]
    if stale:
        files = " ".join(sorted({page.name for page, _ in stale}))
        lines += ["", f"**{len(stale)} of {regions} regions are stale:**", ""]
        lines += [
            f"- {markdown_text(f'{page.name}:{region.begin} {region.title}')}"
            for page, region in stale
        ]
        lines += [
            "",
            f"`bench report --update {markdown_text(files).replace('`', '')}` writes them anew.",
        ]
    elif regions and not errors:
        lines += ["", f"{regions} {'region' if regions == 1 else 'regions'} up to date."]
    return visible("\n".join(lines)) + "\n"


def cut(text: str, limit: int, rest: str) -> str:
    """The text, or its first lines within `limit` and a word on the rest; no table is torn.

    A row stays whole, and a table keeps its head and at least one row, or is left out.
    """
    if len(text) <= limit:
        return text
    lines = text.split("\n")
    note = f"\n*Cut here: {{}} more lines. {rest}*\n"
    room = limit - len(note) - 12
    kept: list[str] = []
    size = 0
    for line in lines:
        if size + len(line) + 1 > room:
            break
        kept.append(line)
        size += len(line) + 1
    table = 0
    while table < len(kept) and kept[-1 - table].startswith("|"):
        table += 1
    if table in (1, 2):
        kept = kept[:-table]
    return "\n".join(kept) + "\n" + note.format(len(lines) - len(kept))
