-- What a connection itself needs.

-- name: notify
-- A hint to other processes that there may be something to do. Never part of a transaction that changes states.
select pg_notify($1, '')

-- name: database_now
-- The only clock.
select bide_now()
