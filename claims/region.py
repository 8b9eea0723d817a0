"""A claim as the text of a generated region."""

from __future__ import annotations

from urllib.parse import quote

from ..reports.escape import markdown_text
from .checked import Checked


def region_text(checked: Checked, claim: str) -> str:
    """The claim's sentence, a link to it, and whether it holds."""
    sentence = markdown_text(checked.claim or "not a claim")
    verdicts = [
        f"- **{verdict.way}**: {markdown_text(verdict.sentence)}"
        for verdict in checked.outcome.verdicts
    ]
    holds = "**false** by its sources" if verdicts else "holds by its sources"
    first = f"{sentence} ([claim]({quote(claim)}), {holds})."
    return "\n".join([first, *([""] if verdicts else []), *verdicts])
