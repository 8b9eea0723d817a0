"""Every regular expression of the program, wherever it is made, and how it is used."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.ingest.documents.context import _phrases
from bench.ingest.documents.setting_phrases import noun_patterns
from bench.vocabulary.hardware import device_pattern
from bench.vocabulary.prefilter import HintedPattern
from bench.vocabulary.secret_forms import FORMS
from bench.vocabulary.secret_rules import rules

ROOT = Path(__file__).resolve().parent.parent
NOT_OURS = {"tests", "benchmarks", "docs", "examples", "typings", "data", "out"}
ANCHORED = {"match", "fullmatch"}
METHODS = ANCHORED | {"search", "sub", "subn", "split", "findall", "finditer"}
# What data files call their patterns, and the folder of those that have no such word.
IN_DATA = {"pattern", "anchor", "pair"}
HOW = {"prefixes.toml": {"match"}}  # of data files: the others are searched for


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern, where it stands, and the methods by which texts of strangers are tried on it."""

    place: str
    pattern: re.Pattern[str]
    methods: frozenset[str]

    @property
    def anchored(self) -> bool:
        """Whether it is only ever tried at the start of a text."""
        return bool(self.methods) and self.methods <= ANCHORED


def sources() -> list[Path]:
    """The modules of the package."""
    files = [file for file in ROOT.rglob("*.py") if not file.is_relative_to(ROOT / ".venv")]
    kept = [file for file in files if file.relative_to(ROOT).parts[0] not in NOT_OURS]
    return sorted(file for file in kept if not file.relative_to(ROOT).parts[0].startswith("."))


@cache
def trees() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text("utf-8")) for file in sources()}


@cache
def uses() -> dict[tuple[str, Path], set[str]]:
    """By the name of a variable and a module: the methods called there on what it holds."""
    found: dict[tuple[str, Path], set[str]] = defaultdict(set)
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                owner = node.value
                if isinstance(owner, ast.Name | ast.Attribute):
                    name = owner.id if isinstance(owner, ast.Name) else owner.attr
                    found[name, file].add(node.attr)
    return found


@cache
def importers() -> dict[tuple[str, str], set[Path]]:
    """By a name and the last word of its module: the modules that take it from there."""
    found: dict[tuple[str, str], set[Path]] = defaultdict(set)
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    found[alias.name, (node.module or "").rpartition(".")[2]].add(file)
    return found


def _methods(name: str, file: Path) -> set[str]:
    """What is called on a variable of a module, there and where it is imported."""
    return {method for one in {file, *importers()[name, file.stem]} for method in uses()[name, one]}


def in_code() -> tuple[list[Found], list[str]]:
    """Patterns in modules, and the modules of those that only a running program makes."""
    found: list[Found] = []
    unknown: list[str] = []
    for file, tree in trees().items():
        module = _module(file)
        names = {
            node.value: target.id for node in ast.walk(tree) if isinstance(node, ast.Assign)
            for target in node.targets if isinstance(target, ast.Name)
        }  # fmt: skip
        for call, method in _calls(tree):
            place = f"{file.relative_to(ROOT)}: {names.get(call, call.lineno)}"
            try:
                given = re.compile(_value(call.args[0], module), _flags(call, method, module))
            except (NameError, AttributeError, TypeError, ValueError, re.error):
                unknown.append(file.relative_to(ROOT).as_posix())
                continue
            if isinstance(given.pattern, bytes):
                given = re.compile(given.pattern.decode("latin-1"), given.flags & ~re.A | re.A)
            used = _methods(names.get(call, ""), file) if method == "compile" else {method}
            found.append(Found(place, given, frozenset(used)))
    return found, unknown


def _module(file: Path) -> dict[str, Any]:
    parts = file.relative_to(ROOT).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    if parts[:1] in (("__main__",), ("trainer",)):  # the trainer needs torch, and reads no text
        return {"re": re}
    try:
        return vars(importlib.import_module(".".join(("bench", *parts))))
    except ImportError:  # of an extra, such as torch
        return {}


def _calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == HintedPattern.__name__:
            yield node, "compile"
        elif (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            and node.func.attr in METHODS | {"compile"}
        ):  # fmt: skip
            yield node, node.func.attr


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """A constant expression: of the text of the module and of what stands at its top."""
    return eval(compile(ast.Expression(node), "", "eval"), dict(names))


def _flags(call: ast.Call, method: str, names: dict[str, Any]) -> int:
    """Those given by name, or in their place behind the texts."""
    place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(method, 2)
    given = [word.value for word in call.keywords if word.arg == "flags"] or call.args[place:]
    return int(_value(given[0], names)) if given else 0


def in_data() -> list[Found]:
    """Patterns that data files of the package bring."""
    found = []
    for file in sorted(ROOT.rglob("*.toml")):
        part = file.relative_to(ROOT)
        if part.parts[0] in NOT_OURS or part.parts[0].startswith(".") or len(part.parts) < 2:
            continue
        for where, text in _texts(tomllib.loads(file.read_text("utf-8"))):
            found.append(
                Found(
                    f"{part}: {where}", re.compile(text), frozenset(HOW.get(part.name, {"search"}))
                )
            )
    for rule in rules():
        found.append(Found(f"{rule.id} of gitleaks", rule.pattern, frozenset({"sub"})))
    for number, (field, pattern) in enumerate(noun_patterns()):
        place = f"ingest/documents/nouns.toml: {field} {number}"
        found.append(Found(place, pattern.regex, frozenset({"search"})))
    for number, form in enumerate(FORMS):
        found.append(Found(f"form of secrets {number}", form.pattern, frozenset({"sub"})))
    return found


def hinted() -> Iterator[HintedPattern]:
    """Those that are searched for only in texts with their words."""
    for file in sources():
        if f"{HintedPattern.__name__}(" in file.read_text("utf-8"):
            yield from (one for one in _module(file).values() if isinstance(one, HintedPattern))
    yield device_pattern()
    yield from (pattern for _, pattern in noun_patterns())
    yield from (phrase["regex"] for phrase in _phrases())


def _texts(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, str) and key in IN_DATA:
            yield f"{where}{key}", inner
        elif isinstance(inner, dict | list):
            yield from _texts(inner, f"{where}{key}.")
