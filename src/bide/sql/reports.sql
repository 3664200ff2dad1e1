-- What people read about DAGs, runs and tasks. Every list has a limit, and goes on after what was read before.

-- name: list_dags
-- DAGs, perhaps only some, perhaps those with a tag, in a file or in none any more; each with its latest run.
select d.dag_id, d.is_paused, d.gone_at, d.fileloc, d.description, d.owners, d.tags, d.timetable_summary as schedule,
       d.next_run_at, exists (select from import_error e where e.fileloc = d.fileloc) as is_broken,
       (select count(*)::integer from dag_run r where r.dag_id = d.dag_id and r.state = 'queued') as queued_runs,
       (select count(*)::integer from dag_run r where r.dag_id = d.dag_id and r.state = 'running') as running_runs,
       last.run_id as last_run_id, last.state as last_state
from dag d left join lateral (
    select r.run_id, r.state from dag_run r where r.dag_id = d.dag_id order by r.logical_date desc, r.id desc limit 1
) last on true
where ($1::text[] is null or d.dag_id = any ($1)) and ($2::text is null or $2 = any (d.tags))
  and (d.gone_at is not null) = $3 and d.dag_id > $4
order by d.dag_id limit $5

-- name: describe_dag
-- A DAG as its latest version has it, and what is decided about it outside of its file.
select d.dag_id, d.is_paused, d.gone_at, d.fileloc, d.description, d.owners, d.tags, d.timetable_summary as schedule,
       d.timetable_description, d.max_active_runs, d.max_active_tasks, d.next_logical_date, d.next_run_at,
       v.number as version, v.created_at as version_at, v.plan, v.source,
       exists (select from import_error e where e.fileloc = d.fileloc) as is_broken
from dag d join dag_version v on v.id = d.version_id where d.dag_id = $1

-- name: list_import_errors
-- Files that cannot be used as they are.
select fileloc, error, traceback, at from import_error where fileloc > $1 order by fileloc limit $2

-- fragment: how_far
-- How many of a run's tasks there are, have ended, and have failed.
cross join lateral (
    select count(*)::integer as tasks,
           (count(*) filter (where t.state in ('success', 'failed', 'skipped', 'upstream_failed', 'removed')))::integer
               as ended,
           (count(*) filter (where t.state in ('failed', 'upstream_failed')))::integer as failed
    from task_instance t where t.dag_run_id = r.id
) t

-- name: list_runs
-- Runs, perhaps of one DAG, perhaps in some states, the newest first.
with chosen as materialized (
    select * from dag_run r
    where ($1::text is null or r.dag_id = $1) and ($2::text[] is null or r.state = any ($2))
      and ($3::bigint is null or r.id < $3)
    order by r.id desc limit $4
)
select r.id, r.dag_id, r.run_id, r.run_type, r.state, r.logical_date, r.queued_at, r.start_date, r.end_date,
       coalesce(r.end_date, bide_now()) - r.start_date as duration, t.tasks, t.ended, t.failed
from chosen r {{how_far}} order by r.id desc

-- name: describe_run
-- A run, whether its DAG is paused, and the moment of this look.
select r.id, r.dag_id, r.run_id, r.run_type, r.state, r.epoch, r.logical_date, r.data_interval_start,
       r.data_interval_end, r.queued_at, r.start_date, r.end_date, r.timeout_at,
       coalesce(r.end_date, bide_now()) - r.start_date as duration, t.tasks, t.ended, t.failed, r.conf, r.note,
       r.dag_version_id, v.number as version, d.is_paused, bide_now() as now
from dag_run r join dag d on d.dag_id = r.dag_id left join dag_version v on v.id = r.dag_version_id {{how_far}}
where r.dag_id = $1 and r.run_id = $2

-- name: run_progress
-- How the tasks of a run stand: of each task so many instances in each state.
select t.task_id, t.state, count(*)::integer as number, bool_or(t.map_index >= 0) as is_mapped,
       max(t.try_number) as tries, min(t.start_date) as started_at, max(t.end_date) as ended_at, bide_now() as now
from task_instance t where t.dag_run_id = $1
group by t.task_id, t.state order by min(t.id)

-- name: describe_task
-- A task instance: where it is, who has it, and what it waits for.
select t.id, t.dag_id, t.run_id, t.task_id, t.map_index, t.state, t.operator, t.try_number, t.max_tries, t.leg, t.pool,
       t.pool_slots, t.priority_weight, t.queue, t.queued_at, t.start_date, t.end_date, t.wake_at, t.try_deadline,
       t.sensor_deadline, coalesce(t.end_date, bide_now()) - t.start_date as duration, t.worker_id,
       j.hostname as worker_host, w.classpath as waits_for, w.created_date as waits_since, t.trigger_timeout,
       w.due_at, w.triggerer_id, w.parked_why, bide_now() as now
from task_instance t left join job j on j.id = t.worker_id left join trigger w on w.id = t.waits_for
where t.dag_id = $1 and t.run_id = $2 and t.task_id = $3 and t.map_index = $4

-- name: list_instances
-- The instances of a task in a run.
select t.map_index, t.state, t.try_number, t.start_date, t.end_date,
       coalesce(t.end_date, bide_now()) - t.start_date as duration
from task_instance t
where t.dag_id = $1 and t.run_id = $2 and t.task_id = $3 and t.map_index > $4 order by t.map_index limit $5

-- name: list_legs
-- How the legs of a task instance ended and what they used, each with its worker; the latest ones, in their order.
select l.* from (
    select l.leg, l.try_number, l.worker_id, j.hostname as worker_host, l.pid, l.started_at, l.ended_at,
           l.ended_at - l.started_at as duration, l.exit, l.peak_memory_kb, l.cpu_sec
    from leg_record l left join job j on j.id = l.worker_id
    where l.task_instance_id = $1 order by l.leg desc limit $2
) l order by l.leg

-- name: list_xcoms
-- What a task instance has left; of long values the beginning.
select x.key, left(x.value::text, $5) as value, octet_length(x.value::text) as size, x.timestamp as at from xcom x
where x.dag_id = $1 and x.run_id = $2 and x.task_id = $3 and x.map_index = $4 order by x.key limit $6

-- name: task_history
-- What has happened to a task instance; the latest entries, in their order.
select h.* from (
    select h.id, h.at, h.verb, h.from_state, h.to_state, h.leg, h.try_number, h.who, h.why from history h
    where h.task_instance_id = $1 order by h.id desc limit $2
) h order by h.id

-- name: tries_of
-- Which tries of a task instance have left a log.
select distinct c.try_number from log_chunk c where c.task_instance_id = $1 order by c.try_number

-- name: tasks_by_end
-- The tasks of a run by how they bear on its end, except those that ended well.
select t.id, t.state, t.is_leaf from task_instance t
where t.dag_run_id = $1 and t.state not in ('success', 'skipped', 'removed') order by t.id
