"""Rows to decisions: rankings, comparisons, fits. Pure functions; commands open and print."""
