"""The scheduler: what follows from what has changed, what may run next, what is due, and who is gone.

It keeps nothing in its memory but plans, which never change. Each step asks the database what there is to do, decides
with pure functions, and says verbs; a fence refuses whatever was decided on an old picture. So any number of schedulers
may run at once, and the death of one loses nothing.

* `service`: the loop.
* `consequences`: what has changed, and what follows (`judging` decides).
* `admission`: what may be queued (`room` decides).
* `dates`: what has become due, from a retry to the next run of a schedule.
* `household`: who is gone, and what is left of them.
"""
