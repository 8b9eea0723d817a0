"""What the words of a row state: the model at their beginning, and numbers with the name of a
field."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ...vocabulary.parallelism import sizes_in
from .assigned import assigned_in, shape_in
from .setting_phrases import named_numbers

# A bare number of parameters may be a number of tokens, so words have to follow it.
_LABEL = re.compile(
    r"[`*]{0,4}(?:(?P<label>(?:\d{2,3}M|\d{1,4}(?:\.\d{1,3})?[bB](?:-[aA]\d{1,3}(?:\.\d{1,2})?[bB])?)(?![A-Za-z0-9]))"
    r"(?=[`*]{0,4}[,;:|(+ ]{1,20}[A-Za-z]|[_-][A-Za-z0-9]|\.(?:toml|ya?ml|json|sh|py)\b)"
    r"(?!\s*(?:tok|sample|step|param|word))"
    r"|(?P<name>[A-Za-z][\w.+]{0,30}(?:[-_][\w.+]{1,20}){0,5}"
    r"[-_](?:\d{1,4}(?:\.\d{1,3})?[bB]|\d{2,3}[mM])(?![A-Za-z0-9])"
    # a longer text is the name of a configuration
    r"(?:[-_][A-Za-z0-9.+]{1,20}){0,4})(?![\w+-]))"
)
# `r001 0.6B`; a number by itself, as `300B` or `~0.92B`, counts tokens as often.
_SIZE_BEHIND_A_NAME = re.compile(
    r"(?:^|; )[`*]{0,4}[A-Za-z][\w.+#-]{0,30}[ :](\d{1,4}(?:\.\d{1,3})?B)(?![\w-])"
    r"(?!\s*(?:tok|sample|step|param|word|data))"
)
_LINKED = re.compile(r"!?\[([^\[\]]{1,80})\]\([^()]{0,300}\)")

_SHAPE = re.compile(r"\W{0,4}\d{1,3}[ -]?(?:layers?|L|blocks?)\b", re.I)
_SPLITS = ("dp", "tp", "pp", "cp", "ep", "vpp")


@lru_cache(1 << 10)
def numbers_in_words(words: str) -> dict[str, int]:
    """The fields that the words of a row state with a number, each once."""
    found = {name: {value} for name, value in sizes_in(words).items()}
    for name, _, value in named_numbers(words):
        found.setdefault(name, set()).add(int(value))
    for name, number in (*assigned_in(words), *shape_in(words)):
        found.setdefault(name, set()).add(number)
    return {name: values.pop() for name, values in found.items() if len(values) == 1}


def splits_of_some(rows: Sequence[Mapping[str, int]]) -> dict[str, frozenset[int]]:
    """The sizes of splits that rows name, where others name none: the text tells of these rows."""
    found = {name: frozenset(row[name] for row in rows if name in row) for name in _SPLITS}
    return {name: sizes for name, sizes in found.items() if sizes}


def is_shape(text: str) -> bool:
    """Whether a text begins with the shape of a model, so that it names none: `8 layers, D=384`."""
    return bool(_SHAPE.match(text))


def label_in(words: str) -> str | None:
    """The model at the beginning of a cell of the row's words: `13B, TP=4`, `llama3-8b`."""
    unlinked = _LINKED.sub(r"\1", words)  # `[llama3-8b](./llama3.yaml)`
    read = filter(None, map(_LABEL.match, unlinked.split("; ")))
    found = {label["label"] or label["name"] for label in read}
    found = found or set(_SIZE_BEHIND_A_NAME.findall(unlinked))
    return found.pop() if len(found) == 1 else None
