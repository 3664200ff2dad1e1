"""The triggerer: holds waits, lets runners run their triggers, and says in the database how they ended.

`service` is where it begins. `holdings` knows every wait that is held here and `held` is one of them, `crew` has the
runners and `runner` is its view of one, `outbox` turns what triggers yield into verbs, `watch` sees who holds up an
event loop, `comparison` finds what was taken away, `kills` lets `on_kill` run.
"""
