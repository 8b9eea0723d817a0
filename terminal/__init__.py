"""The command line: shared options, messages, output formats."""
