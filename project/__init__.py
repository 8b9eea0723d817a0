"""What a repository declares for its sources (bench.toml, facts.toml), and what follows ingest."""
