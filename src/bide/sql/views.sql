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
-- Runs and tasks that have met their limits are left out.
select t.id, t.leg, t.dag_run_id, t.dag_id, t.task_id, t.pool, t.pool_slots, t.priority_weight,
       t.max_active_tis_per_dag, t.max_active_tis_per_dagrun, d.max_active_tasks, t.next_method is not null as resumes,
       (select r.dag_version_id from dag_run r where r.id = t.dag_run_id) as dag_version_id, t.queue
from unnest($1::text[]) as open (pool) cross join lateral (
    select t.* from task_instance t
    where t.pool = open.pool and t.state = 'scheduled' and t.next_method is distinct from '__fail__'
      and {{answered}}
      and exists (select from dag_run r join dag d on d.dag_id = r.dag_id
                  where r.id = t.dag_run_id and r.state = 'running' and not d.is_paused offset 0)
      and t.dag_run_id <> all ($3::bigint[])
      and (t.dag_id, t.task_id) not in (select * from unnest($4::text[], $5::text[]))
      and (t.dag_run_id, t.task_id) not in (select * from unnest($6::bigint[], $7::text[]))
    order by (t.next_method is null), t.priority_weight desc, t.id limit $2
) t
join dag d on d.dag_id = t.dag_id
order by (t.next_method is null), t.priority_weight desc, t.id

-- name: beginnable
-- Queued runs of DAGs that are not paused and may have more active runs, the earliest first.
select r.id
from (select distinct dag_id from dag_run where state = 'queued') q
join dag d on d.dag_id = q.dag_id and not d.is_paused
cross join lateral (
    select r.id, coalesce(r.logical_date, r.queued_at) as at from dag_run r
    where r.dag_id = d.dag_id and r.state = 'queued'
    order by coalesce(r.logical_date, r.queued_at), r.id
    limit greatest(0, d.max_active_runs
        - (select count(*) from dag_run b where b.dag_id = d.dag_id and b.state = 'running'))
) r
order by r.at, r.id limit $1

-- fragment: another_run
d.max_active_runs > (
    select count(*) from dag_run r where r.dag_id = d.dag_id and r.state in ('queued', 'running'))

-- name: agenda
-- What there is to do for a scheduler, by a look at each index and no further; and when the next date comes.
select exists (select from look) as looks,
       exists (select from task_instance t
               where t.state = 'scheduled' and t.next_method is distinct from '__fail__') as scheduled,
       exists (select from task_instance t where t.state = 'scheduled' and t.next_method = '__fail__') as failing,
       exists (select from dag_run r where r.state = 'queued') as queued,
       exists (select from dag_run r join dag d on d.dag_id = r.dag_id
               where r.state = 'running' and r.dag_version_id <> d.version_id)
           or exists (select from dag_run r join dag d on d.dag_id = r.dag_id
                      where r.state = 'queued' and r.dag_version_id <> d.version_id) as outdated,
       exists (select from dag d
               where d.next_run_at <= bide_now() and not d.is_paused and d.gone_at is null
                 and {{another_run}}) as launches,
       least((select min(wake_at) from task_instance where wake_at is not null),
             (select min(trigger_timeout) from task_instance where state = 'deferred' and trigger_timeout is not null),
             (select min(due_at) from trigger where due_at is not null),
             (select min(timeout_at) from dag_run where state = 'running' and timeout_at is not null),
             (select min(next_run_at) from dag
              where next_run_at > bide_now() and not is_paused and gone_at is null))
           - bide_now() as until_due

-- name: failing
-- Legs that have only to fail: the scheduler finishes them, by the same rule as every failure.
select t.id, t.leg, t.dag_run_id, t.dag_id, t.task_id, t.map_index, t.try_number, t.max_tries, t.next_kwargs,
       (select r.dag_version_id from dag_run r where r.id = t.dag_run_id) as dag_version_id
from task_instance t
where t.state = 'scheduled' and t.next_method = '__fail__'
order by t.id limit $1

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

-- name: parts_of_waits
-- What the database says that a triggerer holds, in sums: a part of a few thousand numbers each. The check tells which
-- waits it is, so that one that was lost does not make up for one that nobody knows of.
select w.id / 4096 as part, count(*)::integer as number,
       sum((w.id % 4096 * 4099 + w.claim) * (w.id % 4096 * 4099 + w.claim) % 1000000007)::bigint as checks
from trigger w where w.triggerer_id = $1 group by w.id / 4096

-- name: waits_in_parts
-- What the database says that a triggerer holds, of some of these parts.
select w.id, w.claim from unnest($2::bigint[]) as p (part) cross join lateral (
    select w.id, w.claim from trigger w
    where w.triggerer_id = $1 and w.id >= p.part * 4096 and w.id < (p.part + 1) * 4096 offset 0
) w

-- name: expiring
-- Runs that are out of time, with the tasks that have still to be stopped.
select r.id, r.epoch,
       array(select t.id from (select * from task_instance t where t.dag_run_id = r.id offset 0) t
             where t.state not in ('success', 'failed', 'skipped', 'upstream_failed', 'removed') order by t.id) as tasks
from dag_run r
where r.state = 'running' and r.timeout_at <= bide_now()
order by r.timeout_at limit $1

-- name: due_dags
-- DAGs whose next run is due by their schedule, as far as they may have another one.
select d.dag_id, d.version_id, d.next_run_at from dag d
where d.next_run_at <= bide_now() and not d.is_paused and d.gone_at is null and d.version_id is not null
  and {{another_run}}
order by d.next_run_at limit $1

-- name: outdated_runs
-- Runs that are not over and have an older version of their DAG than the latest.
select r.id, r.dag_id, d.version_id
from (
    select q.id, q.dag_id, q.dag_version_id from dag_run q where q.state = 'queued'
    union all
    select q.id, q.dag_id, q.dag_version_id from dag_run q where q.state = 'running'
) r
join dag d on d.dag_id = r.dag_id
where r.dag_version_id <> d.version_id
order by r.dag_id, r.id limit $1

-- name: strangers
-- Unfinished tasks of these runs that are not among the given ones.
select t.id from (
    select t.id from task_instance t
    where t.dag_run_id = any ($1::bigint[]) and t.task_id <> all ($2::text[])
      and t.state not in ('success', 'failed', 'skipped', 'upstream_failed', 'removed') offset 0
) t
order by t.id
