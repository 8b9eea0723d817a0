"""The version of bench, as pyproject.toml takes it from here."""

VERSION = "0.1.0"
