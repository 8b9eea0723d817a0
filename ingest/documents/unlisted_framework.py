"""The framework that a document is about, if its name is in no list.

The document defines it (`Modalities is a framework for distributed training`), or states it for
its results (`benchmarks using the DFM framework`). Parts for training, such as kernels and
optimizers, are no framework of a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = r"(?P<name>[A-Z][\w.+]{0,40}(?:-[\w.+]{1,40}){0,3})"
_TRAINS = r"(?:pre-?|post-?)?(?:train|fine-?tun)(?:ing|s|e|ed)?\b"
_KIND = r"(?:frameworks?|codebase|toolkit|toolbox|trainer|library|repository|repo|stack|platform)\b"
_DEFINED = re.compile(
    rf"^\W{{0,6}}(?:The\s)?{_NAME}\s(?:\([^()]{{1,60}}\)\s)?is\s(?:an?|the|our)\s(?P<what>[^.;]{{1,200}})"
)
_IS_TRAINER = re.compile(
    rf"{_KIND}(?:\s(?:built|designed|developed|made|that\s\w+|used|intended))?\s(?:for|to)\s"
    rf"(?:[\w-]+,?\s){{0,5}}?{_TRAINS}|{_TRAINS}(?:\s(?:and\s)?[\w-]+)?\s{_KIND}",
    re.I,
)
_USED = re.compile(
    rf"\b(?:using|with|on|via|by|in|of)\s(?:the\s|our\s){{0,2}}[*`\[]{{0,3}}{_NAME}[*`\]]{{0,3}}"
    r"(?:\([^()]{0,200}\))?\s(?:training\s)?(?:framework|trainer|codebase)\b"
)
_CALLED = re.compile(
    rf"(?<![\w.+-]){_NAME}[*`\]]{{0,3}}(?:\([^()]{{0,200}}\))?\s(?:training\s)?(?:framework|trainer|codebase)\b"
)
_PART = re.compile(
    r"\b(?:kernels?|attention|optimizers?|communicat\w+|compress\w+|quantiz\w+|data ?load\w*"
    r"|datasets?|inference|serving|visuali[sz]\w+|monitor\w+|evaluat\w+|profil\w+|tokeniz\w+|wrapper|plug-?in"
    r"|scheduler|schedul\w+|benchmark\w*|tracking|logging|accelerat\w+|extension"
    r"|environments?)\b",
    re.I,
)
_NO_NAME = frozenset(
    re.findall(
        r"\w+",
        "It This That There These Those Here What Which He She We Our The A An One Each Another"
        " PyTorch Torch JAX TensorFlow Keras CUDA ROCm Python Training Distributed Deep Pre Fine"
        " Slurm Kubernetes Ray Docker",
    )
)


def tool_defined(text: str, title: str | None = None) -> str | None:
    """The training framework that a sentence defines; None if it defines something else.

    Below a title it counts only if the title has its name.
    """
    match = _DEFINED.match(text.replace("**", "").replace("`", ""))
    if match is None or match["name"] in _NO_NAME:
        return None
    what = _IS_TRAINER.search(match["what"])
    if what is None or _PART.search(match["what"][: what.end()]):
        return None
    return match["name"] if title is None or is_named_in(match["name"], [title]) else None


def tool_used(text: str) -> str | None:
    """The tool that a sentence states as used, and calls a framework."""
    match = _USED.search(text)
    names = {one["name"] for one in _CALLED.finditer(text)}
    return match["name"] if match and names == {match["name"]} - _NO_NAME else None


def is_named_in(name: str, texts: Iterable[str]) -> bool:
    """Whether one of the texts has the name as a word."""
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.I)
    return any(word.search(text) for text in texts)
