"""Generated regions in markdown, row diffs, and comments on pull requests."""
