"""Where a number comes from: formula, inputs and units, down to file, line and raw text."""
