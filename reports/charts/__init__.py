"""Drawing of charts: styles, text, placement, lines and bars; `reports.chart` is the interface."""
