"""A command in the text of a document: the settings among its arguments, and what it launches."""

from __future__ import annotations

import re

from .context import setting_field
from .fact import Fact

_ARGUMENT = re.compile(r"(?<!\S)--(?P<key>[a-z][\w-]{1,60})(?:[ =](?P<value>[^\s\\-]\S{0,60}))?")
_FORMAT = re.compile(r"bf16|fp16|fp8")  # a switch; `--attention-softmax-in-fp32` is of a part
_LAUNCHED = re.compile(r"(?<![\w-])(?:torchrun|torch\.distributed\.(?:run|launch))(?![\w-])")
_EACH = re.compile(r"--nproc[_-]per[_-]node[ =](?P<n>\d{1,3})(?!\S)")
_NODES = re.compile(r"--nnodes[ =](?P<n>\S{1,40})")
_SEVERAL = 2  # arguments that make a line a command


def arguments_in(text: str) -> list[str]:
    """The arguments of a command that set a field: `--seq-length 4096`, `--bf16`; else none."""
    found = list(_ARGUMENT.finditer(text))
    if len(found) < _SEVERAL:
        return []
    return [
        match[0] if match["value"] else match["key"]
        for match in found
        if (setting_field(match["key"]) if match["value"] else _FORMAT.fullmatch(match["key"]))
    ]


def launched(text: str, line: int) -> list[Fact]:
    """The devices that `torchrun` starts a process for; on several nodes if it says how many."""
    each, nodes = _EACH.search(text), _NODES.search(text)
    count = nodes["n"] if nodes else "1"
    if not (each and _LAUNCHED.search(text) and count.isdecimal()):
        return []
    devices = str(int(each["n"]) * int(count))
    return [Fact("devices", devices, text.strip(), line, "line")]
