"""A table brought to one run a row: headings on top, phases and methods apart, words of legends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...vocabulary.headings import columns_of
from .column_groups import one_run_a_row
from .crosstab import with_axis_named
from .framework_columns import with_both_a_row
from .grid import Table
from .legends import Legends
from .mean_row import with_mean_alone
from .methods import with_method_a_row
from .orientation import lists_features, oriented
from .other_models import is_of_others
from .phases import has_both_phases, with_training_alone, without_generation
from .precision_switches import with_formats_named
from .quantities import quantity_above, quantity_in
from .relative import is_relative
from .results_in_cells import with_units_apart
from .row_groups import with_group_a_row
from .side_by_side import with_sides_below
from .stated_units import with_stated_unit
from .steady_state import with_step_times
from .trailing import with_remarks_headed
from .training_tables import is_training
from .value_pairs import with_pairs_apart
from .wide_tables import UNNAMED

_ROWS = 20  # whose cells may name what is trained
_LONGEST = 200  # characters of a cell that names a configuration


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The text around a table: `above` are headings, outermost first; `lead` the paragraph right
    above; `section` the lines since the last heading or table; `subject` of the document."""

    above: Sequence[str]
    lead: str
    section: Sequence[str]
    subject: str | None


@dataclass(frozen=True, slots=True)
class TidyTable:
    """A table of one run a row; `corner`: whether its first heading is another than in the text."""

    table: Table
    is_benchmark: bool
    corner: bool


def _words_of(table: Table) -> Iterator[str]:
    """The first cell of each row, and those below headings that are not known."""
    columns = columns_of(table.header.cells)
    for row in table.rows:
        for at, (cell, column) in enumerate(zip(row.cells, columns, strict=False)):
            if (at == 0 or column is None) and len(cell) <= _LONGEST:
                yield cell


def shaped(original: Table, around: Surroundings, legends: Legends) -> TidyTable:
    """The table of one run a row, and whether it is one of training runs."""
    lead, above = around.lead, around.above
    original = with_formats_named(original)
    original = with_remarks_headed(with_units_apart(with_step_times(with_sides_below(original))))
    original = with_stated_unit(original, lead)
    named = quantity_in([original.header.cells[0], lead, *above[-1:]])
    quantity = named or quantity_above(lead, around.section) or UNNAMED
    turned = legends.applied(oriented(with_axis_named(legends.applied(original))))
    if turned.header.cells != original.header.cells:  # the former header is no heading any more
        lead = " ".join([lead, *original.header.cells])
        turned = with_pairs_apart(turned)
    turned = with_mean_alone(turned)
    of_phases = has_both_phases(turned.header.cells)
    turned = with_method_a_row(with_training_alone(turned), [lead, *reversed(above)])
    table = one_run_a_row(with_both_a_row(with_group_a_row(turned)), quantity)
    # If nothing else names training, the words of rows may: `Gradient Accumulation`.
    names = " | ".join(_words_of(table))
    # What generates next to what trains is part of a training.
    subject = "training" if of_phases else around.subject
    heads = without_generation(table.header.cells) if of_phases else table.header.cells
    cells = [row.cells for row in table.rows]
    training = is_training(heads, above, lead, subject, cells, names=names, generates=of_phases)
    own = " | ".join([*heads, names, *(cell for row in cells[:_ROWS] for cell in row)])
    if training and is_of_others(heads, [own, lead, *reversed(above)], around.subject):
        training = False
    training = training and not is_relative(heads, cells)
    corner = turned is not original and turned.header.cells[:1] != original.header.cells[:1]
    return TidyTable(table, training and not lists_features(table), corner)
