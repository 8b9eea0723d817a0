"""A DataFrame that notebooks display like a page of bench."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from ..site.single import fragment
from ..terminal.output_formats import human
from ..vocabulary.printable import visible

LONGEST = 200  # maximum characters of a cell


class Frame(pd.DataFrame):
    """A pandas DataFrame with a display of its own; selections from it are Frames too."""

    @property
    def _constructor(self) -> Callable[..., Frame]:
        return Frame

    def _repr_html_(self) -> str:
        """An HTML table of at most pandas' `display.max_rows` rows, with escaped texts."""
        most = pd.get_option("display.max_rows") or len(self)
        shown = self.head(most)
        rest = f"the first {len(shown):,} of " if len(shown) < len(self) else ""
        below = f"{rest}{len(self):,} rows × {self.shape[1]:,} columns"
        return shown_html(shown, "", below)


def shown_html(frame: pd.DataFrame, above: str = "", below: str = "") -> str:
    """A frame as an HTML table with lines above and below it; no text of it turns another."""
    heads = [str(name) for name in frame.columns]
    series = [frame.iloc[:, at] for at in range(len(heads))]
    numbers = [pd.api.types.is_numeric_dtype(column) and column.dtype != bool for column in series]
    columns = [[_text(value) for value in column.array] for column in series]
    return visible(fragment(heads, list(zip(*columns, strict=True)), numbers, above, below))


def _text(value: Any) -> str:  # Any: a cell of any type
    if not isinstance(value, (str, list, tuple, dict)) and value is not None:
        missing = pd.isna(value)
        if isinstance(missing, bool) and missing:
            return ""
    item = getattr(value, "item", None)  # a scalar of numpy
    text = human(item() if item and getattr(value, "ndim", 1) == 0 else value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
