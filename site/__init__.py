"""The results as a folder of pages: complete as HTML, opened from disk, with a script that sorts."""
