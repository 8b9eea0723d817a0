"""A claim as generated text of a page."""

from __future__ import annotations

from urllib.parse import quote

from ..reports.escape import markdown_text
from .checked import Checked


def region_text(found: Checked, claim: str) -> str:
    """A claim in a page: what it says, a link to it, and whether it holds."""
    said = markdown_text(found.claim or "not a claim")
    verdicts = [f"- **{one.way}**: {markdown_text(one.sentence)}" for one in found.outcome.verdicts]
    holds = "**false** by its sources" if verdicts else "holds by its sources"
    return "\n".join([f"{said} ([claim]({quote(claim)}), {holds}).", *([""] if verdicts else []),
                      *verdicts])  # fmt: skip
