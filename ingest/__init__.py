"""Text to records: documents with tables, and training logs."""
