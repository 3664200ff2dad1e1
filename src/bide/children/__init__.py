"""The processes in which a user's code runs, and nothing else does. They hold no password and no key.

`warm` imports one DAG file and forks a child for each leg, `child` runs the legs it is sent. Both speak with their
service over sockets, in the words of `bide.model.messages`.
"""
