"""The warehouse from Python: every answer is a DataFrame, shown as pages show tables."""
