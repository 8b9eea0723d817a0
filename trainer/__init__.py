"""The reference trainer: GPT on a grid of processes, to be read in one sitting.

Nobody imports it and it imports none of ours: the log that it prints is the contract.
"""
