"""Job scripts: directives of schedulers, exports, and the arguments of the program that runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...vocabulary.hardware import device_of
from ...vocabulary.secrets import redact_lines
from ..logs.environment import LISTS, OPTIONS, is_recorded, of_command
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
    _read_directives(text, script.stated)
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


_SBATCH = re.compile(
    r"#SBATCH\s+(?P<name>-\w|--[A-Za-z][\w-]*)(?:=|\s+)?(?P<value>\"[^\"]*\"|'[^']*'|[^\s#]*)"
)
_PJM = re.compile(
    r"#PJM\s+(?:(?:-L|--rsc-list|--mpi|--llio|-x)[\s=]+[\"']?(?P<pairs>[^\"'\n]+)[\"']?"
    r"|(?P<name>-{1,2}[A-Za-z][\w-]*)[\s=]*(?P<value>[^\s#]*))"
)
_PBS = re.compile(r"#PBS\s+-(?P<name>\w)\s*(?P<value>[^\s#]*)")
_LONG = {"N": "nodes", "n": "ntasks", "t": "time", "J": "job-name", "p": "partition",
         "A": "account", "C": "constraint", "o": "output", "e": "error", "G": "gpus",
         "c": "cpus-per-task", "w": "nodelist", "q": "qos"}  # fmt: skip
_JOB = {"time": "time_limit", "job-name": "job_name", "elapse": "time_limit",
        "walltime": "time_limit", "output": "output", "nodelist": "hosts"}  # fmt: skip
_PBS_COLUMNS = {
    "ppn": "procs_per_node", "mpiprocs": "procs_per_node",
    "ngpus": "devices_per_node", "gpus": "devices_per_node",
}  # fmt: skip


def _read_directives(text: str, stated: Statements) -> None:
    """The directives of a script; Slurm and PBS read them up to the first command."""
    begun = False
    for number, line in enumerate(text.split("\n"), 1):
        plain = line.strip()
        if match := _PJM.match(plain):
            _pjm(match, stated, number)
        elif not begun and (match := _SBATCH.match(plain)):
            name = match["name"].lstrip("-")
            _sbatch(_LONG.get(name, name), match["value"].strip("\"'"), stated, number)
        elif not begun and (match := _PBS.match(plain)):
            _pbs(match["name"], match["value"], stated, number)
        begun = begun or bool(plain and not plain.startswith("#"))


def _flag(stated: Statements, name: str, value: str, line: int) -> None:
    stated.add(name, value or "yes", "scheduler", line)
    if name.lstrip("-") in _JOB and value:
        stated.add(_JOB[name.lstrip("-")], value, "job", line)


def _sbatch(name: str, value: str, stated: Statements, line: int) -> None:
    _flag(stated, f"--{name}", value, line)
    if name == "nodes" and value.isdigit():
        stated.column("nodes", value, line)
    elif name in ("gres", "gpus-per-node"):
        _devices(value.removeprefix("gpu:"), stated, line)


def _devices(value: str, stated: Statements, line: int) -> None:
    """`4`, `a100:4`: of one node."""
    kind, _, count = value.rpartition(":")
    if count.isdigit():
        stated.column("devices_per_node", count, line)
        if kind and device_of(kind):
            stated.column("device", kind.upper(), line)


def _pjm(match: re.Match[str], stated: Statements, line: int) -> None:
    if not match["pairs"]:
        _flag(stated, match["name"], match["value"], line)
        return
    for pair in match["pairs"].split(","):
        name, _, value = (word.strip() for word in pair.partition("="))
        if not name:
            continue
        _flag(stated, name, value, line)
        if name == "node":
            _nodes(value, stated, line)
        elif name == "max-proc-per-node":
            stated.column("procs_per_node", value, line)
        elif name == "proc":
            stated.column("ranks", value, line)


def _nodes(value: str, stated: Statements, line: int) -> None:
    """`64`, `48x6x48:torus:strict-io`."""
    product = 1
    for part in value.split(":")[0].split("x"):
        if not part.isdigit():
            return
        product *= int(part)
    stated.column("nodes", str(product), line)


def _pbs(name: str, value: str, stated: Statements, line: int) -> None:
    if name == "N":
        stated.add("job_name", value, "job", line)
    if name != "l":
        stated.add(f"-{name}", value or "yes", "scheduler", line)
        return
    for pair in value.split(","):
        own, _, rest = pair.partition("=")
        _flag(stated, own, rest, line)
        first, *more = rest.split(":")
        inner = dict(part.partition("=")[::2] for part in more)
        if own in ("nodes", "select") and first.isdigit() and "+" not in rest:
            stated.column("nodes", first, line)
            for key in inner.keys() & _PBS_COLUMNS.keys():
                stated.column(_PBS_COLUMNS[key], inner[key], line)
