"""What starts the processes of a run: a file each, with one subclass of `Launcher` or `Scheduler`.

The file's name is its word in plans.
"""
