"""Logs that are being written: followed, stored as they grow, and judged."""
