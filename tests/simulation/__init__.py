"""A small world that is played by dice: processes that crash, freeze and lie, people, a clock, one real PostgreSQL.

Whoever plays knows only what it was told, and says what it believes (`actors`, `scheduler`, `worker`, `triggerer`,
`person`). The post between them and the engine loses, delays, doubles and forges words (`world`, `forgery`). Each word
is carried out by the engine's own function and statement. Then it is judged, without a look at the engine's SQL:

* by its fence: the `ledger` says which rows it must change (`expectations`),
* by the history that it left: each entry goes on where the last one ended (`follow`), and brings the ledger to where it
  must be now (`effects`),
* by its answer (`answers`),
* and now and then by all tables and the whole history (`checker`).

In the end the chaos stops, and all that has begun must come to its end (`simulate`). `broken` has verbs that are broken
on purpose: the test of the test.
"""
