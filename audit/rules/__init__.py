"""The rules: this folder's listing is their registry, each file's RULE says its place in order."""
