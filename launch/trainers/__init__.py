"""Trainers: one file with one subclass of `Trainer` each, named as in plans."""
