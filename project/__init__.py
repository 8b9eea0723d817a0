"""Declarations of a repository (bench.toml, facts.toml), and post-processing of an ingest."""
