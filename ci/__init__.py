"""Markdown that keeps itself true: regions, row diffs, and what a pull request is told."""
