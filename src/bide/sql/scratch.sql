-- Databases for tests of DAGs, and their clock.

-- name: name_database
-- The words with which a database is made or dropped. Such statements take no parameters, so they are put together.
select format('create database %I', $1::text) as make, format('drop database if exists %I with (force)', $1::text) as drop

-- name: lock_scratch
-- Only one process at a time makes such databases and clears away abandoned ones: to others, one that was just made looks
-- abandoned. The lock goes with the connection.
select pg_advisory_lock($1)

-- name: unlock_scratch
-- Another process may go on.
select pg_advisory_unlock($1)

-- name: abandoned_databases
-- Scratch databases whose process is gone: nobody is connected to them.
select d.datname as name from pg_database d
where starts_with(d.datname, $1) and not exists (select from pg_stat_activity a where a.datname = d.datname)

-- name: set_clock
-- The engine's clock stands still at this moment.
update clock set frozen_at = $1, shift = interval '0'

-- name: read_clock
-- What the engine's clock says.
select bide_now() as now

-- name: states_of_run
-- A run with all its task instances.
select r.state as run_state, t.id, t.task_id, t.map_index, t.state, t.try_number
from dag_run r left join task_instance t on t.dag_run_id = r.id where r.id = $1 order by t.id

-- name: waits_of_runs
-- Every wait with the tasks that wait for it.
select w.id, w.claim, w.triggerer_id, w.due_at, t.id as task_instance_id, t.dag_run_id, t.dag_id, t.run_id, t.task_id,
       t.map_index, t.try_number, t.leg
from trigger w join task_instance t on t.waits_for = w.id order by w.id, t.id

-- name: logs_of_run
-- What the tasks of a run have written, each in all its tries.
select t.id, c.text from (select id from task_instance where dag_run_id = $1 offset 0) t
cross join lateral (
    select string_agg(c.text, '' order by c.try_number, c.number) as text from log_chunk c where c.task_instance_id = t.id
) c
where c.text is not null

-- name: values_of_run
-- What the tasks of a run have returned.
select t.id, x.value from (select * from task_instance where dag_run_id = $1 offset 0) t
cross join lateral (
    select x.value from xcom x
    where x.dag_id = t.dag_id and x.run_id = t.run_id and x.task_id = t.task_id and x.map_index = t.map_index
      and x.key = $2 limit 1
) x

-- name: store_version
-- A plan becomes the latest version of its DAG, without a file.
with known as (
    insert into dag (dag_id, max_active_tasks, max_active_runs) values ($1, $3, $4)
    on conflict (dag_id) do update
    set max_active_tasks = excluded.max_active_tasks, max_active_runs = excluded.max_active_runs
    returning dag_id
)
insert into dag_version (dag_id, number, plan, callbacks, created_at)
select known.dag_id, 1 + (select count(*) from dag_version v where v.dag_id = $1), $2, $5, bide_now() from known
returning id

-- name: use_version
-- It is the latest one.
update dag set version_id = $2 where dag_id = $1
