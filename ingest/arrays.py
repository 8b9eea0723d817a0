"""Arrays of NumPy by what they hold; all have one dimension."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Double = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]  # one for each of what is marked or not
Places = npt.NDArray[np.int64]  # of lines in a block, or of letters
Times = npt.NDArray[np.datetime64]
Whole = npt.NDArray[np.int64]
