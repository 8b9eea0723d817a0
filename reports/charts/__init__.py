"""How charts are drawn: styles, text, places, lines and bars; `reports.chart` is the door."""
