-- How the whole system stands: for the one who is woken at night, and for those who look before that.

-- name: list_services
-- Processes that are there, and those that were given up within the last hour, with what each one has in hand.
select j.id, j.job_type, j.hostname, j.pid, j.version, j.queues, j.capacity, j.start_date, {{alive}} as is_alive,
       j.state <> 'running' as is_over, bide_now() - j.latest_heartbeat as heartbeat_age,
       case j.job_type
           when 'WorkerJob' then (select count(*)::integer from task_instance t where t.worker_id = j.id)
           when 'TriggererJob' then (select count(*)::integer from trigger w where w.triggerer_id = j.id) end as load
from job j
where j.state = 'running' or j.state = 'failed' and j.end_date > bide_now() - interval '1 hour'
order by j.state <> 'running', j.job_type, j.id limit $1

-- name: count_runs_by_state
-- Runs that are not over, apart those of DAGs that are paused.
select r.state, d.is_paused, count(*)::integer as number from dag_run r join dag d on d.dag_id = r.dag_id
where r.state in ('queued', 'running') group by r.state, d.is_paused order by r.state, d.is_paused

-- name: count_tasks_by_state
-- Tasks of running runs that are not over.
select t.state, count(*)::integer as number from dag_run r join task_instance t on t.dag_run_id = r.id
where r.state = 'running'
  and t.state in ('none', 'scheduled', 'queued', 'running', 'deferred', 'up_for_retry', 'up_for_reschedule',
                  'restarting', 'shutdown')
group by t.state order by t.state

-- name: queue_loads
-- Queues that have tasks, and how many living workers serve them.
select q.queue, q.number, bide_now() - q.since as oldest,
       (select count(*)::integer from job j
        where j.job_type = 'WorkerJob' and {{alive}} and q.queue = any (j.queues)) as workers
from (select t.queue, count(*)::integer as number, min(t.queued_at) as since
      from task_instance t where t.state = 'queued' group by t.queue) q
order by q.queue limit $1

-- name: callback_loads
-- Queues for which somebody wants to be called back, how long the oldest call has been there, and who serves them.
select q.queue, q.number, bide_now() - q.since as oldest,
       (select count(*)::integer from job j
        where j.job_type = 'WorkerJob' and {{alive}} and q.queue = any (j.queues)) as workers
from (select b.queue, count(*)::integer as number, min(b.created_at) as since
      from callback b where b.state = 'pending' and b.trigger_id is null group by b.queue) q
order by q.queue limit $1

-- name: impossible_pools
-- Tasks that no pool will ever take: theirs is not there, or has fewer slots than the task needs.
select t.pool, p.slots, count(*)::integer as number, max(t.pool_slots) as needs
from task_instance t left join pool p on p.name = t.pool
where t.state = 'scheduled' and t.next_method is distinct from '__fail__'
  and (p.name is null or t.pool_slots > p.slots)
group by t.pool, p.slots order by t.pool limit $1

-- name: free_waits
-- Waits that nobody holds, by queue, and how many living triggerers serve it; timers need nobody.
select w.queue, w.number, bide_now() - w.since as oldest,
       (select count(*)::integer from job j
        where j.job_type = 'TriggererJob' and {{alive}}
          and (w.queue = any (j.queues) or w.queue = '' and j.queues = '{}')) as triggerers
from (select coalesce(t.queue, '') as queue, count(*)::integer as number, min(t.created_date) as since
      from trigger t where t.triggerer_id is null and t.due_at is null and t.parked_until is null
      group by coalesce(t.queue, '')) w
order by w.queue limit $1

-- name: count_waits
-- How many tasks wait, and how: held by a triggerer, by nobody, put aside, as timers; and how many should have ended.
select (select count(*)::integer from task_instance t where t.waits_for is not null) as tasks,
       (select count(*)::integer from trigger w where w.triggerer_id is not null) as held,
       (select count(*)::integer from trigger w
        where w.triggerer_id is null and w.due_at is null and w.parked_until is null) as unclaimed,
       (select count(*)::integer from trigger w where w.parked_until is not null) as parked,
       (select count(*)::integer from trigger w where w.due_at is not null) as timers,
       o.number as overdue, bide_now() - o.since as most_overdue
from (select count(*)::integer as number, min(t.trigger_timeout) as since from task_instance t
      where t.state = 'deferred' and t.trigger_timeout < bide_now()) o

-- name: parked_waits
-- Waits that are put aside, by the reason.
select w.parked_why as why, count(*)::integer as number from trigger w
where w.parked_until is not null group by w.parked_why order by number desc, why limit $1

-- name: count_import_errors
-- How many files cannot be used as they are.
select count(*)::integer as number from import_error

-- name: examine_server
-- What a doctor wants to know of a server: its clock, its connections, what it promises to keep, and where the clock of
-- the engine stands; that is another one only where a test has moved it.
select clock_timestamp() as clock, c.frozen_at is not null or c.shift <> interval '0' as clock_is_moved,
       current_setting('max_connections')::integer as max_connections,
       (select count(*)::integer from pg_stat_activity a where a.backend_type = 'client backend') as connections,
       current_setting('fsync') = 'on' as keeps_commits, pg_database_size(current_database()) as size
from clock c

-- name: sealed_samples
-- Some of what is sealed, to try the keys on.
(select 'variable' as kind, key as name, sealed from variable order by key limit $1)
union all
(select 'connection', conn_id, sealed from connection order by conn_id limit $1)
