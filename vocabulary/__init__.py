"""The vocabulary of the field: headings, cells, units, sizes, secrets, devices."""
