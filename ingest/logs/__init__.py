"""Lines of a log to records, steps and runs."""
