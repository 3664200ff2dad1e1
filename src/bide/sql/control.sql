-- What people look at and set.

-- name: dag_ids
-- The ids of all DAGs that are in a file, to find the one that was meant.
select dag_id from dag where gone_at is null order by dag_id

-- name: current_version
-- The latest version of a DAG.
select d.dag_id, v.id, v.number, v.plan, d.is_paused, d.gone_at is not null as is_gone, bide_now() as now
from dag d join dag_version v on v.id = d.version_id where d.dag_id = $1

-- name: set_paused
-- These DAGs launch no runs and start no tasks, or do so again.
update dag set is_paused = $2 where dag_id = any ($1::text[]) and is_paused <> $2 returning dag_id

-- name: runs_between
-- The runs of a DAG from one logical date to another, the earliest first.
select r.id, r.run_id, r.state, r.logical_date from dag_run r
where r.dag_id = $1 and ($2::timestamptz is null or r.logical_date >= $2)
  and ($3::timestamptz is null or r.logical_date <= $3)
order by r.logical_date, r.id

-- name: runs_named
-- The runs of a DAG with these names.
select r.id, r.run_id, r.state, r.logical_date from dag_run r
where r.dag_id = $1 and r.run_id = any ($2::text[]) order by r.logical_date, r.id

-- name: instances_of
-- The instances of these tasks in these runs, in these states.
select * from (
    select t.id, t.run_id, t.task_id, t.map_index, t.state from task_instance t
    where t.dag_run_id = any ($1::bigint[]) and t.task_id = any ($2::text[])
      and ($3::text[] is null or t.state = any ($3)) offset 0
) t
order by t.id

-- name: pools
-- All pools, with what is taken of them.
select p.name, p.slots, p.include_deferred, p.description, coalesce(busy.queued, 0) as queued,
       coalesce(busy.running, 0) as running, coalesce(deferred.slots, 0) as deferred,
       coalesce(scheduled.slots, 0) as scheduled
from pool p
left join lateral (
    select sum(t.pool_slots) filter (where t.state = 'queued')::integer as queued,
           sum(t.pool_slots) filter (where t.worker_id is not null)::integer as running
    from task_instance t where t.pool = p.name and (t.state = 'queued' or t.worker_id is not null)
) busy on true
left join lateral (
    select sum(t.pool_slots)::integer as slots from task_instance t where t.pool = p.name and t.waits_for is not null
) deferred on true
left join lateral (
    select sum(t.pool_slots)::integer as slots from task_instance t
    where t.pool = p.name and t.state = 'scheduled' and t.next_method is distinct from '__fail__'
) scheduled on true
order by p.name

-- name: set_pool
-- A pool has so many slots from now on.
insert into pool (name, slots, include_deferred, description) values ($1, $2, $3, $4)
on conflict (name) do update
set slots = excluded.slots, include_deferred = excluded.include_deferred, description = excluded.description
returning name

-- name: delete_pool
-- There is no such pool any more, unless tasks that are not over need it.
delete from pool p where p.name = $1 and p.name <> 'default_pool' and not exists (
    select from task_instance t where t.pool = p.name
      and t.state not in ('success', 'failed', 'skipped', 'upstream_failed', 'removed'))
returning name

-- name: variables
-- All variables, with what they are for; their values stay sealed.
select key, description from variable order by key

-- name: connections
-- All connections, with what they are for; their secrets stay sealed.
select conn_id, conn_type, description from connection order by conn_id

-- name: write_connection
-- A connection is this from now on.
insert into connection (conn_id, conn_type, description, sealed) values ($1, $2, $3, $4)
on conflict (conn_id) do update
set conn_type = excluded.conn_type, description = excluded.description, sealed = excluded.sealed

-- name: delete_connection
-- There is no such connection any more.
delete from connection where conn_id = $1 returning conn_id
