"""What people ask of the engine, whether at the command line or in a browser: each a function that answers or refuses.

* `launching`: a run, because somebody wants it.
* `selection`: which tasks of which runs somebody means.
* `rewriting`: clearing and marking what was selected, in batches.
* `waiting`: which waits somebody means, and firing, failing, extending and cancelling them.
* `ending`: a run ended by a person's word, with its tasks.
* `why`: why one task is where it is, in a sentence.
* `stuck`: what will not move by itself, in sentences.
* `savings`: what waiting without a worker has saved.
* `rotation`: everything that is stored encrypted, sealed anew with the first key.
* `desk`: DAGs paused, pools, and the variables and connections, whose values are sealed.
"""
