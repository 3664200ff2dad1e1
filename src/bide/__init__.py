"""Bide: a workflow engine in which waiting is free."""

__version__ = "0.1.0"
