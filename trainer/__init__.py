"""The reference trainer: GPT on a grid of processes, small enough to read in one sitting.

It neither imports nor is imported by the rest of bench: its log is the contract.
"""
