-- What a connection itself needs.

-- name: notify
-- Hints to other processes that there may be something to do. Never part of a transaction that changes states.
select pg_notify(hinted.channel, '') from unnest($1::text[]) as hinted (channel)

-- name: alive
-- Asked of a silent connection: nothing but whether there is an answer.
select 1
