"""Our dataclasses behave as those of the standard library."""

import copy
import dataclasses
import pickle
from dataclasses import asdict, field, fields, replace
from typing import Any

import pytest

from bench.vocabulary.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    x: int
    y: float = 0.5
    names: list[str] = field(default_factory=list, repr=False)
    note: str = field(default="", compare=False)
    unit: str = field(default="s", kw_only=True)


@dataclass(frozen=True, slots=True)
class Marked(Point):
    """A point with a mark."""

    mark: tuple[int, ...] = ()


@dataclass(slots=True)
class Counter:
    """A counter that can be changed."""

    number: int = 1
    double: int = field(init=False)

    def __post_init__(self) -> None:
        self.double = 2 * self.number


def twin(cls: type, **options: Any) -> Any:
    """The same class as the standard library makes it."""
    space = dict(cls.__dict__)
    for name in ("__slots__", "__init__", "__eq__", "__hash__", "__repr__", "__setattr__",
                 "__delattr__", "__getstate__", "__setstate__", *cls.__annotations__):  # fmt: skip
        space.pop(name, None)
    space |= {one.name: one for one in fields(cls) if one.name in cls.__annotations__}
    return dataclasses.dataclass(type(cls.__name__, cls.__bases__, space), **options)


def test_objects_are_made_compared_and_shown_as_by_the_standard_library() -> None:
    made: Any = Point
    theirs = twin(Point, frozen=True)
    for given, named in (((1,), {}), ((1, 2.0, ["a"], "note"), {"unit": "ms"}), ((3,), {"y": 1})):
        ours, other = made(*given, **named), theirs(*given, **named)
        assert repr(ours) == repr(other)
        assert asdict(ours) == asdict(other)
        assert repr(replace(ours, x=7)) == repr(replace(other, x=7))
    assert Point(1, note="a") == Point(1, note="b") != Point(2)
    assert Point(1) != Marked(1)
    assert Marked(1, mark=(2,)).mark == (2,)
    assert Point(1).names is not Point(1).names


def test_a_wrong_call_is_an_error() -> None:
    made: Any = Point
    for given, named in (((), {}), ((1, 2, [], "", "s"), {}), ((1,), {"z": 1})):
        with pytest.raises(TypeError):
            made(*given, **named)


def test_a_frozen_object_cannot_be_changed_and_has_a_hash() -> None:
    @dataclass(frozen=True, slots=True)
    class Key:
        name: str

    key = Key("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        key.name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del key.name
    assert {key: 1}[Key("a")] == 1
    assert not hasattr(key, "__dict__")


def test_an_object_that_can_be_changed_has_no_hash() -> None:
    one = Counter(3)
    assert (one.number, one.double) == (3, 6)
    one.number = 4
    assert one != Counter(3)
    with pytest.raises(TypeError):
        hash(one)


def test_methods_of_the_class_itself_remain() -> None:
    @dataclass(frozen=True, slots=True)
    class Named:
        name: str

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return self.name

    assert hash(Named("a")) == 5
    assert repr(Named("a")) == "a"
    assert Named("a") == Named("a")


# An object from another process is compared before this one has called the constructor.
@dataclass(frozen=True, slots=True)
class Sent:
    """Never made here but by pickle."""

    number: int


def test_copies_and_pickles_are_equal() -> None:
    sent = object.__new__(Sent)
    sent.__setstate__([3])  # type: ignore[attr-defined]
    assert sent == copy.copy(sent)
    assert hash(sent) == hash(pickle.loads(pickle.dumps(sent)))
    point = Point(1, names=["a"])
    assert pickle.loads(pickle.dumps(point)) == point == copy.deepcopy(point)
