"""The names that expressions and templates of a rule can use, resolved when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .expression import FUNCTIONS, Expression, Unknown
from .formula_fixes import number
from .input import Row, Table
from .quantities import quantity_of

Let = Mapping[str, Expression]  # the names that a rule defines


class Names(dict[str, Any]):
    """Those for a row. Raises Unknown for an unknown quantity while `strict`."""

    def __init__(self, table: Table, row: Row, let: Let, **known: Any) -> None:
        super().__init__(FUNCTIONS, number=number, row=row, **known)
        self.table, self.row, self.let, self.strict = table, row, let, False

    def __missing__(self, name: str) -> Any:
        if name in self.let:
            return self.let[name].value(self)
        found = quantity_of(self.table, self.row, name)
        if found is not None:
            self[name] = found
        elif self.strict:
            raise Unknown
        return found


class _Side:
    """One row of a pair: its quantities as attributes."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def __getattr__(self, name: str) -> Any:
        return self.names[name]


class PairNames(dict[str, Any]):
    """Those for a pair of rows."""

    def __init__(self, first: Names, second: Names) -> None:
        super().__init__(FUNCTIONS, first=_Side(first), second=_Side(second))
        self.let = first.let

    def __missing__(self, name: str) -> Any:
        return self.let[name].value(self)
