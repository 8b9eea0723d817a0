"""Tables of a document, and what the text around them states, to runs."""
