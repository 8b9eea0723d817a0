"""Claims: an answer with its sources and derivation, as a file that anybody can verify."""
