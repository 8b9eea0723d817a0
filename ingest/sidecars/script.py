"""Job scripts: directives of schedulers, exports, and the arguments of the program that runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...vocabulary.secrets import redact_lines
from ..logs.environment import LISTS, OPTIONS, is_recorded, of_command
from . import directives
from .statement import Statements

_ASSIGNED = re.compile(
    r"""\s*+(?:export\s++|readonly\s++|local\s++|declare\s++(?:-\w++\s++)?)?(?P<name>[A-Za-z_]\w*)="""
    r"""(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s;&|()`"']*+)\s*+;?\s*+(?:\#.*)?$"""
)
_EXPORT = re.compile(r"\s*export\s")
_OPTION = re.compile(
    r"""(?<![\w-])--(?P<name>[A-Za-z][\w-]*)"""
    r"""(?:(?:=|[ \t]+)(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s"'\\;&|()<>-][^\s"'\\;&|()<>]*|-\d\S*))?"""
)
_DOTTED = re.compile(
    r"(?<![\w.])(?:\+{0,2})(?:model|trainer)\.(?P<path>[\w.]+)=(?P<value>[^\s\\]+)"
)
# Of the launcher itself: options after the program are the program's.
_RANKS = re.compile(
    r"\s*(?:\w+=\S*\s+)*(?:\S*/)?(?:mpirun|mpiexec)[\w.]*(?=\s)(?:(?!python|\.py|\.sh).)*?"
    r"\s-(?:np|n)[ =]+(?P<n>\S+)"
)
_OPENS = re.compile(r"\s*(?:if|for|while|until|case|select)\b|.*\)\s*\{\s*$|\s*function\b.*\{\s*$")
_CLOSES = re.compile(r"(?:^|.*[;\s])(?:fi|done|esac)\s*(?:[;|>&].*|2>.*)?$|\s*\}\s*$")
_HERE = re.compile(r"<<-?\s*(['\"]?)(?P<end>\w+)\1")
_LOOP = re.compile(r"\s*(?:for|select)\s+(?P<name>\w+)\s+in\b|\s*(?:read|getopts)\b(?P<names>.*)")
_PRINTS = re.compile(r"\s*(?:echo|printf)\b")
_VARIABLE = re.compile(r"\$(?:(?P<name>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})")
_PRODUCT = re.compile(r"\$\(\((?P<product>[^()]*)\)\)")
_OUTPUT = re.compile(r"(?:(?:\btee\s+(?:-a\s+)?)|(?:&?>>?\s*))(?P<file>[^\s;|&>]+)")
_DEEPEST = 8
_UNSURE = "$"  # of a value that the script alone does not determine


@dataclass(slots=True)
class _Script:
    stated: Statements
    given: dict[str, list[str]] = field(default_factory=dict)  # variables and what they are set to
    doubtful: set[str] = field(default_factory=set)  # set in a branch or a loop
    options: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    dotted: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def value(self, text: str, depth: int = 0) -> str | None:
        """A text with its variables replaced; None if one is not known for certain."""
        text = text.strip("\"'")
        text = _PRODUCT.sub(lambda match: self._product(match["product"], depth), text)

        def known(match: re.Match[str]) -> str:
            name = match["name"] or match["braced"]
            values = self.given.get(name, [])
            sure = len(set(values)) == 1 and name not in self.doubtful and depth < _DEEPEST
            value = self.value(values[0], depth + 1) if sure else None
            return _UNSURE if value is None else value

        replaced = _VARIABLE.sub(known, text)
        return None if _UNSURE in replaced or "`" in replaced else replaced

    def _product(self, text: str, depth: int) -> str:
        """`$((A * B))`, where both are known."""
        product = 1
        for part in text.split("*"):
            factor = part.strip()
            value = factor if factor.isdigit() else self.value(f"${factor.lstrip('$')}", depth + 1)
            if value is None or not value.isdigit():
                return _UNSURE
            product *= int(value)
        return str(product)


def read_script(text: str) -> Statements:
    """The statements of a job script; a value set in a branch or by the caller is no column."""
    script = _Script(Statements())
    # First, since a secret is recognized by the text before it: `wandb login --relogin X`.
    lines = list(_lines(redact_lines(text)))
    for _, line, certain in lines:
        _assign(script, line, certain)
    for number, line, certain in lines:
        _read(script, number, line, certain)
    for name, values in script.options.items():
        for value, number in values:
            if value != _UNSURE:
                script.stated.add(name, value, "option", number)
    script.stated.arguments(_single(script.options))
    script.stated.arguments(_single(script.dotted), "nemo")
    directives.read(text, script.stated)
    return script.stated


def _single(found: dict[str, list[tuple[str, int]]]) -> dict[str, tuple[str, int]]:
    return {
        name: stated[0] for name, stated in found.items() if len({text for text, _ in stated}) == 1
    }


def _lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Number, text and whether a line always runs; without comments and here-documents."""
    depth, end = 0, None
    for number, line in enumerate(text.split("\n"), 1):
        if end is not None:
            end = None if line.strip() == end else end
            continue
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        opens, closes = bool(_OPENS.match(line)), bool(_CLOSES.match(line))
        if closes and not opens:
            depth -= 1
        yield number, line, depth <= 0 and not (opens and closes)
        if opens and not closes:
            depth += 1
        if match := _HERE.search(line):
            end = match["end"]


def _assign(script: _Script, line: str, certain: bool) -> None:
    if loop := _LOOP.match(line):
        script.doubtful |= set(re.findall(r"\w+", loop["name"] or loop["names"] or ""))
    if match := _ASSIGNED.match(line):
        script.given.setdefault(match["name"], []).append(match["value"])
        if not certain:
            script.doubtful.add(match["name"])


def _read(script: _Script, number: int, line: str, certain: bool) -> None:
    if _PRINTS.match(line):
        return
    match = _ASSIGNED.match(line)
    if match and _EXPORT.match(line):
        value = script.value(match["value"])
        if certain and value is not None and is_recorded(match["name"]):
            script.stated.add(match["name"], value, "env", number)
    elif certain and (OPTIONS.search(line) or LISTS.search(line) or not match):
        for name, text, kind in of_command(line):
            value = script.value(text)
            if value is not None and (kind != "env" or is_recorded(name)):
                script.stated.add(name, value, kind, number)
    for one in _OPTION.finditer(line):
        value = script.value(one["value"]) if one["value"] else "True"
        sure = value if certain and value is not None else _UNSURE
        name = one["name"].replace("-", "_")
        script.options.setdefault(name, []).append((sure, number))
    for one in _DOTTED.finditer(line):
        value = script.value(one["value"]) if certain else None
        leaf = one["path"].rpartition(".")[2]
        script.dotted.setdefault(leaf, []).append((_UNSURE if value is None else value, number))
    if certain and (ranks := _RANKS.match(line)):
        value = script.value(ranks["n"])
        if value and value.isdigit():
            script.stated.column("ranks", value, number)
    for one in _OUTPUT.finditer(line):
        value = script.value(one["file"])
        if value and value not in ("1", "2", "/dev/null"):
            script.stated.add("output", value, "job", number)
