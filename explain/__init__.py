"""Derivations of numbers: formula, inputs and units, down to file, line and raw text."""
