"""The results as a folder of pages: complete as HTML, opened from a disk, with a script to sort."""
