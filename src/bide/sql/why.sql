-- What it takes to say why a task is where it is: a few rows about it, and about those who could move it. No statement
-- reads more the more tasks wait.

-- name: task_situation
-- A task instance, with its run, its worker, its wait, who holds that, and the on_kill that stands in its way.
select t.id, t.dag_id, t.run_id, t.task_id, t.map_index, t.state, t.try_number, t.max_tries, t.pool, t.pool_slots,
       t.queue, t.next_method, t.next_kwargs ->> 'error' as error, t.wake_at, t.queued_at, t.start_date, t.end_date,
       t.trigger_timeout, t.try_deadline, t.sensor_deadline, t.max_active_tis_per_dag, t.max_active_tis_per_dagrun,
       t.dag_run_id, r.state as run_state, r.dag_version_id, r.logical_date, d.is_paused, d.max_active_runs,
       d.max_active_tasks, t.worker_id, j.hostname as worker_host, j.is_alive as worker_is_alive,
       j.silence as worker_silence, w.id as wait_id, w.classpath, w.created_date as waits_since,
       w.queue as wait_queue, w.due_at, w.parked_until, w.parked_why, w.triggerer_id,
       h.hostname as triggerer_host, h.is_alive as triggerer_is_alive, h.silence as triggerer_silence,
       k.classpath as kill_classpath, k.reason as kill_reason, k.deadline as kill_deadline,
       case when k.taken then k.triggerer_id end as kill_taken_by, bide_now() as now
from (select $1::text as dag_id, $2::text as run_id, $3::text as task_id, $4::integer as map_index) g
cross join lateral (
    select t.* from task_instance t
    where t.dag_id = g.dag_id and t.run_id = g.run_id and t.task_id = g.task_id and t.map_index = g.map_index offset 0
) t
cross join lateral (select r.* from dag_run r where r.id = t.dag_run_id limit 1) r
cross join lateral (select d.* from dag d where d.dag_id = t.dag_id limit 1) d
left join lateral (
    select j.hostname, {{alive}} as is_alive, bide_now() - j.latest_heartbeat as silence
    from job j where j.id = t.worker_id limit 1
) j on true
left join lateral (select w.* from trigger w where w.id = t.waits_for limit 1) w on true
left join lateral (
    select j.hostname, {{alive}} as is_alive, bide_now() - j.latest_heartbeat as silence
    from job j where j.id = w.triggerer_id limit 1
) h on true
left join lateral (select k.* from kill k where k.trigger_id = t.trigger_id limit 1) k on true

-- name: processes_alive
-- The living processes of a kind, and how much each has in hand, counted no further than it has room.
select j.id, j.hostname, j.queues, j.capacity,
       case j.job_type
           when 'WorkerJob' then (
               select count(*)::integer from (
                   select from task_instance t where t.worker_id = j.id limit j.capacity) t)
           when 'TriggererJob' then (
               select count(*)::integer from (
                   select from trigger w where w.triggerer_id = j.id limit j.capacity) w)
           else 0 end as load
from job j where j.job_type = $1 and {{alive}}
order by j.id limit $2

-- name: runs_before
-- The running runs of a DAG, some by name.
select count(*)::integer as number, (array_agg(r.run_id order by r.id))[1:$2::integer] as some
from dag_run r where r.dag_id = $1 and r.state = 'running'

-- name: pool_situation
-- Who takes most of a pool, and how many tasks come before one that wants to be queued; none where it is far behind.
with busy as materialized (
    select t.dag_id || ' ' || t.task_id as name, sum(t.pool_slots) as slots from (
        select t.dag_id, t.task_id, t.pool_slots from task_instance t
        where t.pool = $1 and (t.state = 'queued' or t.worker_id is not null) offset 0
    ) t
    group by t.dag_id, t.task_id
)
select array(select b.name || ' (' || b.slots || ')' from busy b order by b.slots desc, b.name limit $3) as holders,
       array_position(array(
           select t.id from task_instance t
           where t.pool = $1 and t.state = 'scheduled' and t.next_method is distinct from '__fail__'
           order by (t.next_method is null), t.priority_weight desc, t.id limit 1000), $2) - 1 as before
