"""Causes for which a task may be where it is, and how each is brought about."""
