"""The rules: `ID_slug.toml` declares one, and a Python file beside it what no equation says."""
