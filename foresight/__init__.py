"""What was not measured: predictions from a warehouse's own runs, and which to measure next."""
