"""What all services are built on: one asyncio program each, or several of them in one.

`loop` does things again and again, `wakes` says when at once, `membership` registers a service and keeps it alive,
`program` runs services until they are told to stop. `spawn` is for those that have children.
"""
