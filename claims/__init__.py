"""Claims: an answer with all that it rests on, as a file that a stranger can check."""
