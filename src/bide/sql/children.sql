-- What the code of a task asks of the engine while it runs. The worker asks on its behalf.

-- name: version_of
-- Where a leg's code comes from.
select v.id, v.dag_id, v.plan, coalesce(v.source, '') as source, v.fileloc, v.fingerprint
from dag_version v where v.id = $1

-- name: read_xcom
-- The value that a task instance has left under a key.
select x.value from xcom x
where x.dag_id = $1 and x.run_id = $2 and x.task_id = $3 and x.map_index = $4 and x.key = $5

-- name: read_latest_xcom
-- The value that a task instance has left under a key in a run up to a logical date, in the latest one that has it.
select x.value from dag_run r join xcom x on x.dag_id = r.dag_id and x.run_id = r.run_id
where r.dag_id = $1 and r.logical_date <= $2 and x.task_id = $3 and x.map_index = $4 and x.key = $5
order by r.logical_date desc, r.id desc limit 1

-- name: read_xcoms
-- The values that all instances of a task have left under a key.
select x.value from xcom x
where x.dag_id = $1 and x.run_id = $2 and x.task_id = $3 and x.key = $4
order by x.map_index

-- name: push_xcom
-- A value that a leg leaves while it runs. The fence is the leg.
with {{moment}},
held as materialized (
    select t.dag_id, t.run_id, t.task_id, t.map_index from task_instance t
    where t.id = $1 and t.leg = $2 and t.state = 'running' for share
)
insert into xcom (dag_id, run_id, task_id, map_index, key, value, timestamp)
select h.dag_id, h.run_id, h.task_id, h.map_index, $3, $4, moment.now from held h cross join moment
on conflict (dag_id, run_id, task_id, map_index, key) do update
set value = excluded.value, timestamp = excluded.timestamp
returning key

-- name: read_variable
-- The sealed value of a variable.
select sealed from variable where key = $1

-- name: write_variable
-- A variable has this value from now on; it keeps its description if none is given.
insert into variable (key, sealed, description) values ($1, $2, $3)
on conflict (key) do update
set sealed = excluded.sealed,
    description = case when excluded.description = '' then variable.description else excluded.description end

-- name: delete_variable
-- There is no such variable any more.
delete from variable where key = $1 returning key

-- name: read_connection
-- The sealed text of a connection.
select sealed from connection where conn_id = $1

-- name: run_state
-- The state of a run that is known by its id or by its logical date; of several with that date, of the last one.
select r.state from dag_run r
where r.dag_id = $1 and ($2::text is null or r.run_id = $2) and ($3::timestamptz is null or r.logical_date = $3)
order by r.id desc limit 1

-- name: previous_run
-- The last run of a DAG before a logical date, perhaps one in a given state.
select r.dag_id, r.run_id, r.run_type, r.logical_date, r.data_interval_start, r.data_interval_end, r.start_date, r.conf
from dag_run r
where r.dag_id = $1 and r.logical_date < $2 and ($3::text is null or r.state = $3)
order by r.logical_date desc, r.id desc limit 1

-- name: count_tasks
-- How many task instances of some runs of a DAG are in one of these states.
select count(*)::integer as number from dag_run r cross join lateral (
    select from task_instance t
    where t.dag_run_id = r.id and t.state = any ($2::text[]) and ($3::text[] is null or t.task_id = any ($3)) offset 0
) t
where r.dag_id = $1
  and ($4::text[] is null or r.run_id = any ($4)) and ($5::timestamptz[] is null or r.logical_date = any ($5))

-- name: tasks_of_run
-- All task instances of a run.
select t.id from (
    select t.id from task_instance t where t.dag_id = $1 and t.run_id = $2 offset 0
) t
order by t.id
