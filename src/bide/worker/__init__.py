"""The worker: takes up queued legs, lets children run them, and says in the database how they ended.

`service` is where it begins. `warm` and `child` are its view of its processes, `leg` is one leg from its start to its
end, `outbox` turns outcomes into verbs.
"""
