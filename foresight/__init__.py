"""Predictions from a warehouse's own runs, and proposals of runs to measure next."""
