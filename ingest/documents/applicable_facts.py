"""Which facts around a table apply to a row: the nearest, and those that all agree on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import replace

from .context import same_device
from .fact import Fact

# Fields that a document states once for all.
_EVERYWHERE = ("device", "devices_per_node", "seq_len")


def resolve(
    facts: Sequence[Fact], name: str, size: float | None, subjects: Set[str] = frozenset()
) -> Fact | None:
    """The strongest fact of a field that applies to rows of `size` (1e9 parameters; None: any).

    `subjects`: the subjects of statements about some rows only that this row names.
    """
    applicable = [
        fact
        for fact in reversed(facts)
        if fact.field == name
        and (fact.only_size is None or size is None or fact.only_size == size)
        and (fact.only_named is None or fact.only_named in subjects)
    ]
    if applicable and _is_contradicted(applicable):
        return None
    if name == "recompute" and applicable and applicable[0].scope == "formula":
        # Words go before what a formula implies.
        return next((fact for fact in applicable if fact.scope != "formula"), applicable[0])
    return applicable[0] if applicable else None


def _is_contradicted(applicable: Sequence[Fact]) -> bool:
    """Whether the subjects of the nearest facts have different values, by the last fact of each.

    Of `Llama` and `Llama 3`, the facts of the latter are more precise.
    """
    last = {fact.only_named: fact.value for fact in reversed(applicable) if fact.only_named}
    precise = {
        value
        for name, value in last.items()
        if not any(name != other and f" {name} " in f" {other} " for other in last)
    }
    nearest = applicable[0].only_named
    return nearest is not None and (len(precise) > 1 or last[nearest] not in precise)


def stated(
    facts: Sequence[Fact],
    everywhere: Sequence[Fact],
    names: Collection[str],
    size: float | None,
    subjects: Set[str] = frozenset(),
) -> dict[str, Fact]:
    """The facts that apply to rows of `size`, by field; a fuller name of the same device wins."""
    reach = [*everywhere, *facts]
    found = {name: fact for name in sorted(names) if (fact := resolve(reach, name, size, subjects))}
    fuller = next((fact for fact in everywhere if fact.field == "device"), None)
    if "size" in names and "size" not in found:  # more specific, wherever it is
        named = resolve(reach, "model_name", size, subjects)
        found |= {"size": replace(named, field="size")} if named else {}
    near = found.get("device")
    if near and fuller and same_device(near.value or "", fuller.value or ""):
        found["device"] = max(near, fuller, key=lambda fact: len(fact.value or ""))
    _with_memory(found, resolve(facts, "device_memory", size, subjects))
    return found


def _with_memory(facts: dict[str, Fact], memory: Fact | None) -> None:
    """`16GB nodes:` below a device of 32 GB means the same device with 16."""
    device = facts.get("device")
    if device and memory and re.search(r"-\d+GB$", device.value or ""):
        named = re.sub(r"(?<!\d)\d++GB$", f"{memory.value}GB", device.value or "")
        if named != device.value:
            facts["device"] = replace(memory, field="device", value=named)


def unanimous(mentions: Sequence[Fact]) -> Iterator[Fact]:
    """Facts that a document states and never contradicts."""
    for name in _EVERYWHERE:
        stated = [fact for fact in mentions if fact.field == name]
        # A heading applies below it alone; it can only contradict.
        if all(fact.scope == "heading" for fact in stated) or any(not f.value for f in stated):
            continue
        longest = max(stated, key=lambda fact: len(fact.value or ""))
        if all(_agree(name, fact.value or "", longest.value or "") for fact in stated):
            # A fact about one model applies to its rows only, however often it is stated.
            sizes = {fact.only_size for fact in stated}
            only = sizes.pop() if len(sizes) == 1 else None
            named = {fact.only_named for fact in stated}
            name_of = named.pop() if len(named) == 1 else None
            yield replace(longest, scope="document", only_size=only, only_named=name_of)


def _agree(name: str, value: str, longest: str) -> bool:
    return same_device(value, longest) if name == "device" else value == longest
