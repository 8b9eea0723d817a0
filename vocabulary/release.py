"""The version of bench, as in pyproject.toml; tests/test_packaging.py compares the two.

Querying the installed package imports the parser of e-mails, 15 ms of each page.
"""

VERSION = "0.1.0"
