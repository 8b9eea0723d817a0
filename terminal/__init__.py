"""How results look on a terminal: options, messages, output formats."""
