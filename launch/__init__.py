"""Plans of benchmark runs: expand them, execute them, outcome_of_exit the outcomes.

`plan.py` is the plan file, `cases.py` expands it to runs, `sweep.py` executes them. A run's log,
with the lines that the launcher adds, is the warehouse's only input.
"""
