"""Run records: one small JSON file per run, for results in git or from other sites."""
