"""Tables, views, metrics and formulas of the warehouse; imports no package above it."""
