"""The modules of the audit import downwards only."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path


def imported(file: Path, folder: Path) -> set[str]:
    """The modules of a folder that a file of it imports, wherever in its code."""
    up = len(file.relative_to(folder).parts)
    tree = ast.walk(ast.parse(file.read_text("utf-8")))
    return {
        node.module
        for node in tree
        if isinstance(node, ast.ImportFrom) and node.level == up and node.module
    }


def test_no_two_modules_need_each_other(root: Path) -> None:
    folder = root / "audit"
    files = sorted(folder.rglob("*.py"))
    graph = {".".join(f.relative_to(folder).with_suffix("").parts): imported(f, folder)
             for f in files}  # fmt: skip
    order = list(TopologicalSorter(graph).static_order())  # a circle raises CycleError
    assert order.index("input") < order.index("formulas") < order.index("formula_detection")
