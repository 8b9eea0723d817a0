"""The facts in the text around a table, for each of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...vocabulary.sizes import parse_size
from ..cast import integer
from .agreement import RefusedFact, agreeing
from .applicable_facts import resolve, stated
from .fact import Fact
from .model_families import families_in
from .row import FROM_TEXT, RowContext
from .sections import FoundTable
from .subjects import named_by, of_table
from .unread_columns import PossibleMeanings

_FIRST_ROWS = 40  # of a table that are searched for names
_COUNTED = frozenset(("nodes", "devices", "ranks"))


def _of_one_model(facts: Sequence[Fact], rows: Sequence[Sequence[str]]) -> list[Fact]:
    """Without the name of a model if the rows name their models."""
    named = any(families_in(cell) for cells in rows[:_FIRST_ROWS] for cell in cells)
    return [fact for fact in facts if not (named and fact.field == "model_name")]


class TableContext:
    """The facts that apply to one table, and which of them apply to each row.

    `rows`: the numbers of each row's cells by field. Facts of the section of the table apply, and
    so do those that two thirds of the rows of a size agree with: a row that contradicts these
    contradicts its table. Facts from further away have to agree with the row.
    """

    def __init__(
        self,
        found_table: FoundTable,
        everywhere: Sequence[Fact],
        columns: frozenset[str],
        rows: Sequence[Mapping[str, float]],
        possible: PossibleMeanings | None = None,
    ) -> None:
        """`columns`: the fields that the table states; `possible`: those that it may state."""
        cells = [row.cells for row in found_table.table.rows]
        self._found, self._possible = found_table, possible or PossibleMeanings()
        facts = [fact for fact in found_table.facts if self._may_be_of_rows(fact)]
        self._facts_found = of_table(_of_one_model(facts, cells), cells)
        self._everywhere = of_table(list(filter(self._may_be_of_rows, everywhere)), cells)
        self._names = FROM_TEXT - columns
        if not _COUNTED & columns:
            self._names |= {"nodes", "devices", "dp", "dp_shard"} - columns
        self._reach = [*self._everywhere, *self._facts_found]
        self._subjects = {fact.only_named for fact in self._reach if fact.only_named}
        # The size of rows that name none: facts about another model do not apply to them.
        named = resolve(self._reach, "size", None) if "size" in self._names else None
        self._size = parse_size(named.value) if named and named.value else None
        self._facts_of: dict[object, dict[str, Fact]] = {}
        self._taken: dict[object, tuple[RowContext, list[RefusedFact]]] = {}
        self._near = frozenset(filter(self._is_near, self._reach))
        self._of_table = self._agreed(rows)

    def of(
        self, own: Mapping[str, float], cells: Sequence[str] = ()
    ) -> tuple[RowContext, list[RefusedFact]]:
        """The facts for a row with these numbers, and those it contradicts; cached for equal rows.

        `cells`: its words, which match the subjects of facts about some rows only.
        """
        subjects = named_by(cells, self._subjects)
        key = (subjects, *sorted(own.items()))
        if key not in self._taken:
            trusted = self._of_table.get(own.get("size"), self._near)
            taken, refused = agreeing(self._facts(own, subjects), self._reach, own, trusted)
            self._taken[key] = RowContext.of(taken), refused
        return self._taken[key]

    def _facts(
        self, own: Mapping[str, float], subjects: frozenset[str] = frozenset()
    ) -> dict[str, Fact]:
        size, layers = own.get("size", self._size), own.get("layers")
        key = size, layers, subjects
        if key not in self._facts_of:
            facts = [
                fact for fact in self._facts_found
                if fact.only_layers is None or layers in (None, fact.only_layers)
            ]  # fmt: skip
            self._facts_of[key] = stated(facts, self._everywhere, self._names, size, subjects)
        return self._facts_of[key]

    def _is_near(self, fact: Fact) -> bool:
        path = self._found.path
        return fact.of_all_rows or (bool(path) and fact.line >= path[-1].line)

    def _may_be_of_rows(self, fact: Fact) -> bool:
        value = integer(fact.value) if fact.value else None
        whole = value if isinstance(value, int) else None
        return self._possible.keeps(fact.field, whole, is_near=self._is_near(fact))

    def _of_the_model(self, size: float | None) -> frozenset[Fact]:
        """Facts of fields with a single value, if the text names only the size of the rows."""
        named = {fact.value for fact in self._reach if fact.field == "size" and fact.value}
        if size is None or {parse_size(one or "") for one in named} != {size}:
            return frozenset()
        values: dict[str, set[str | None]] = {}
        for fact in self._reach:
            values.setdefault(fact.field, set()).add(fact.value)
        return frozenset(fact for fact in self._reach if len(values[fact.field]) == 1)

    def _agreed(self, rows: Sequence[Mapping[str, float]]) -> dict[float | None, frozenset[Fact]]:
        """By size, the facts that apply to the whole table."""
        counts: Counter[float | None] = Counter(own.get("size") for own in rows)
        refusals: Counter[tuple[float | None, Fact]] = Counter()
        for own in rows:
            _, refused = agreeing(self._facts(own), self._reach, own, self._near)
            refusals.update((own.get("size"), one.fact) for one in refused)
        return {
            size: self._near
            | self._of_the_model(size)
            | {fact for (of, fact), n in refusals.items() if of == size and 3 * n <= counts[size]}
            for size in counts
        }
