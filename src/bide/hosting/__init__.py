"""What the services share that host an author's code in children: the worker and the triggerer.

`answers` answers what the code asks, `logs` keeps what it writes, `exits` says how its process ended,
`wait_overs` how its triggers ended their waits.
"""
