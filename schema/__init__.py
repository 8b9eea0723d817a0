"""The ground: tables, views, metrics and formulas of the warehouse; imports none of our own."""
