"""The rules: `ID_slug.toml` declares one; a Python file checks what no equation can."""
