"""The rules of the engine as plain data and pure functions: no I/O, no clock, no database.

Start reading with `states`, then `transitions`.
"""
