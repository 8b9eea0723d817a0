"""The warehouse in Python: every answer is a DataFrame, displayed like tables of pages."""
