-- What the services look at before they say something. Looking locks nothing; the verbs' fences decide.

-- name: current_turn
-- Read before the room is counted: whoever hands out room proves by this number that the count still holds.
select number from turn

-- name: pool_room
-- How many slots of each pool are taken. A child that has still to stop takes its slots until it is gone.
select p.name, p.slots, p.slots - coalesce(busy.slots, 0) - coalesce(deferred.slots, 0) as free
from pool p
left join lateral (
    select sum(t.pool_slots)::integer as slots from task_instance t
    where t.pool = p.name and (t.state = 'queued' or t.worker_id is not null)
) busy on true
left join lateral (
    select sum(t.pool_slots)::integer as slots from task_instance t
    where p.include_deferred and t.pool = p.name and t.state = 'deferred'
) deferred on true
order by p.name

-- name: busy
-- How many task instances of each task take room, for the limits of DAGs, tasks and runs.
select dag_id, dag_run_id, task_id, count(*)::integer as number from task_instance
where state = 'queued' or worker_id is not null
group by dag_id, dag_run_id, task_id

-- name: candidates
-- What may be queued, of each given pool so many: what was begun before what is fresh, then by priority, then by age.
select t.id, t.leg, t.dag_run_id, t.dag_id, t.task_id, t.pool, t.pool_slots, t.priority_weight,
       t.max_active_tis_per_dag, t.max_active_tis_per_dagrun, t.next_method is not null as resumes
from unnest($1::text[]) as open (pool) cross join lateral (
    select t.* from task_instance t
    where t.pool = open.pool and t.state = 'scheduled' and t.next_method is distinct from '__fail__'
      and {{answered}}
      and exists (select from dag_run r where r.id = t.dag_run_id and r.state = 'running' offset 0)
    order by (t.next_method is null), t.priority_weight desc, t.id limit $2
) t
order by (t.next_method is null), t.priority_weight desc, t.id

-- name: failing
-- Legs that have only to fail: the scheduler finishes them, by the same rule as every failure.
select id, leg, dag_run_id, dag_id, task_id, map_index, try_number, max_tries, next_kwargs from task_instance
where state = 'scheduled' and next_method = '__fail__'
order by id limit $1

-- name: offered
-- Queued legs that a worker may start.
select t.id, t.leg, t.dag_run_id, t.dag_id, t.task_id from unnest($1::text[]) as served (queue) cross join lateral (
    select t.* from task_instance t where t.queue = served.queue and t.state = 'queued'
    order by (t.next_method is null), t.priority_weight desc, t.id limit $2
) t
order by (t.next_method is null), t.priority_weight desc, t.id limit $2

-- name: legs_of
-- What the database says that a worker's children run: what it does not know of was lost on the way, what is missing
-- was taken away.
select id, child_leg, leg, state from task_instance where worker_id = $1 order by id

-- name: waits_of
-- What the database says that a triggerer holds.
select id, claim from trigger where triggerer_id = $1 order by id

-- name: expiring
-- Runs that are out of time, with the tasks that have still to be stopped.
select r.id, r.epoch,
       array(select t.id from (select * from task_instance t where t.dag_run_id = r.id offset 0) t
             where t.state not in ('success', 'failed', 'skipped', 'upstream_failed', 'removed') order by t.id) as tasks
from dag_run r
where r.state = 'running' and r.timeout_at <= bide_now()
order by r.timeout_at limit $1
