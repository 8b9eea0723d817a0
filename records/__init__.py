"""Run records: one small JSON file a run, so that git and other sites can carry results."""
