"""The words of the field: headings, cells, units, sizes, secrets, devices. Imports none of ours."""
