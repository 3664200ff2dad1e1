-- What is stored encrypted, for the rotation of keys: bounded batches, and each value is replaced only if it is still
-- the one that was opened. Those of waits stand in holding.sql.

-- name: resealable_kills
-- One batch of sealed arguments of waits whose on_kill is still to run.
select trigger_id as id, classpath, kwargs from kill where trigger_id > $1 order by trigger_id limit $2

-- name: reseal_kills
-- Stores them sealed anew.
update kill k set kwargs = g.resealed
from unnest($1::bigint[], $2::text[], $3::text[]) as g (id, kwargs, resealed)
where k.trigger_id = any (array[g.id]) and k.kwargs = g.kwargs
returning k.trigger_id

-- name: resealable_variables
-- One batch of sealed variables.
select key as name, sealed from variable where key > $1 order by key limit $2

-- name: reseal_variables
-- Stores them sealed anew.
update variable v set sealed = g.resealed
from unnest($1::text[], $2::text[], $3::text[]) as g (name, sealed, resealed)
where v.key = any (array[g.name]) and v.sealed = g.sealed
returning v.key

-- name: resealable_connections
-- One batch of sealed connections.
select conn_id as name, sealed from connection where conn_id > $1 order by conn_id limit $2

-- name: reseal_connections
-- Stores them sealed anew.
update connection c set sealed = g.resealed
from unnest($1::text[], $2::text[], $3::text[]) as g (name, sealed, resealed)
where c.conn_id = any (array[g.name]) and c.sealed = g.sealed
returning c.conn_id
