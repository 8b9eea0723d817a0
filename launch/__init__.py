"""Plans of benchmark runs: what to run, run it, say how it ended.

`plan.py` is what a user writes, `cases.py` the runs that it means, `sweep.py` runs them; a run's
log with what the launcher adds to it is all that the warehouse needs.
"""
