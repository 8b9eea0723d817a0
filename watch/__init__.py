"""Active logs: followed, ingested as they grow, and checked for problems."""
