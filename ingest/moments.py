"""Times from the numbers that they are printed as, many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arrays import Marks, Times, Whole


def moments(parts: Sequence[Whole]) -> tuple[Times, Marks]:
    """Times to the microsecond, no time zone, and which of them there are, as Python has it.

    `parts` are years, months, days, hours, minutes, seconds and microseconds.
    """
    years, months, days, hours, minutes, seconds, microseconds = parts
    of_year = (years - 1970).astype("datetime64[Y]").astype("datetime64[M]")
    in_month = of_year + (months - 1).astype("timedelta64[M]")
    first, behind = ((in_month + more).astype("datetime64[D]") for more in (0, 1))
    fits = (years > 0) & (months > 0) & (months <= 12) & (days > 0)
    fits &= days <= (behind - first).astype(np.int64)
    fits &= (hours < 24) & (minutes < 60) & (seconds < 60)
    clock = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + microseconds
    date = first + (days - 1).astype("timedelta64[D]")
    return date.astype("datetime64[us]") + clock.astype("timedelta64[us]"), fits
