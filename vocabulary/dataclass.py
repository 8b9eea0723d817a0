"""Dataclasses with slots that compile their methods when the first object is made.

A command imports two hundred such classes and uses half of them. The standard library compiles six
functions for each, which took a twelfth of the time of a command. Here it makes the fields and
slots; the constructor is compiled for classes in use.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, **options):
        """The decorator of the standard library, for the same classes: only those with slots are
        faster. `fields`, `replace`, `asdict`, copies and pickles work as there."""
        if cls is None:
            return lambda cls: dataclass(cls, frozen=frozen, slots=slots, eq=eq, **options)
        if not slots:
            return dataclasses.dataclass(cls, frozen=frozen, eq=eq, **options)
        made = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=True, **options)
        _defer(made, frozen=frozen, eq=eq)
        return made


# Any: values of any class, here and below.
def _defer(made: Any, *, frozen: bool, eq: bool) -> None:
    """Give a class methods that replace themselves when one of them is called first."""
    ours: set[str] = set()  # a class may have some of its own

    def __init__(self: Any, *args: Any, **given: Any) -> None:
        _complete(made, frozen, ours)
        made.__init__(self, *args, **given)

    def __eq__(self: Any, other: object) -> Any:
        _complete(made, frozen, ours)
        return made.__eq__(self, other)

    def __hash__(self: Any) -> int:
        _complete(made, frozen, ours)
        return int(made.__hash__(self))

    methods: dict[str, Any] = {"__init__": __init__, "__repr__": _repr}
    if eq:
        methods |= {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}
    if frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse, "__getstate__": _state,
                    "__setstate__": _restore}  # fmt: skip
    # A class with an `__eq__` of its own has a `__hash__` of None.
    ours.update(name for name in methods if made.__dict__.get(name) is None)
    for name in ours:
        setattr(made, name, methods[name])


def _complete(made: Any, frozen: bool, ours: set[str]) -> None:
    """Give a class the methods for its fields, in place of `ours`."""
    if "__init__" in ours:
        made.__init__ = _constructor(made, frozen)
    if {"__eq__", "__hash__"} & ours:
        key = _key(made)
    if "__eq__" in ours:
        made.__eq__ = lambda self, other: (
            key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented
        )
    if "__hash__" in ours and frozen:
        made.__hash__ = lambda self: hash(key(self))


def _key(made: Any) -> Callable[[Any], tuple[object, ...]]:
    """A function of the values that are compared."""
    names = [field.name for field in dataclasses.fields(made) if field.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _constructor(made: Any, frozen: bool) -> Any:
    """`__init__` of the fields; frozen ones are set by the descriptors of their slots."""
    places, names, lines = list[str](), list[str](), list[str]()
    known: dict[str, object] = {"_absent": dataclasses.MISSING}
    for field in dataclasses.fields(made):
        name, given, value = field.name, field.name, field.name
        if field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            given += f"=_default_{name}"
            value = name if field.init else f"_default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            given += "=_absent"
            value = f"_make_{name}() if {name} is _absent else {name}"
            value = value if field.init else f"_make_{name}()"
        elif not field.init:
            continue
        if field.init:
            (names if field.kw_only else places).append(given)
        known[f"_set_{name}"] = getattr(made, name).__set__
        lines.append(f"_set_{name}(self, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    head = ", ".join(["self", *places, *(["*", *names] if names else [])])
    # The names are identifiers of our own classes: no text from outside is compiled.
    exec(f"def __init__({head}):\n " + "\n ".join(lines or ["pass"]), known)
    return known["__init__"]


def _repr(self: Any) -> str:
    shown = [field.name for field in dataclasses.fields(self) if field.repr]
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{type(self).__qualname__}({values})"


def _refuse(_: Any, name: str, *__: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _state(self: Any) -> list[object]:
    """The values of a frozen object for its pickle and copies, which cannot be assigned."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
