"""What people ask of the engine, whether at the command line or in a browser: each a function that answers or refuses.

* `launching`: a run, because somebody wants it.
* `selection`: which tasks of which runs somebody means.
* `rewriting`: clearing and marking what was selected, in batches.
* `waiting`: which waits somebody means, and firing, failing, extending and cancelling them.
* `ending`: a run ended by a person's word, with its tasks.
* `stuck`: what will not move by itself, in sentences.
* `desk`: DAGs paused, pools, and the variables and connections, whose values are sealed.
"""
