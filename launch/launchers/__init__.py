"""Launchers and schedulers: one file with one subclass of `Launcher` or `Scheduler` each.

The file's name is the launcher's name in plans.
"""
