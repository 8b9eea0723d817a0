"""The results as a folder of HTML pages: complete without a server, with a script for sorting."""
