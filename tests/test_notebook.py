"""The notebook of examples/ runs from top to bottom in a real kernel."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient


@pytest.mark.slow
def test_the_notebook_runs_and_shows_frames(root: Path) -> None:
    text = (root / "examples" / "notebook.ipynb").read_text("utf-8")
    notebook = nbformat.from_dict(json.loads(text))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(root)}}).execute()
    shown = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    tables = ["".join(output["data"]["text/html"]) for output in _displayed(shown)]
    assert "V100-32GB" in tables[0], "what the warehouse holds"
    assert "004_tr3m-1B3.md" in tables[1] and "45590" in tables[1], "the fastest row of 004"
    assert any("image/png" in output.get("data", {}) for outputs in shown for output in outputs)


def test_the_notebook_is_kept_without_outputs(root: Path) -> None:
    notebook = json.loads((root / "examples" / "notebook.ipynb").read_text("utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code and not any(cell["outputs"] or cell["execution_count"] for cell in code)


def _displayed(shown: list[list[dict[str, dict[str, str]]]]) -> list[dict[str, dict[str, str]]]:
    """The outputs that are tables in HTML, in order."""
    every = [output for outputs in shown for output in outputs]
    return [output for output in every if "text/html" in output.get("data", {})]
