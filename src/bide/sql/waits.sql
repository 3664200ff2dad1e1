-- What people read about waits. There may be a million of them, so each list goes along one index, looks at so many and
-- no more, and tells how far it has come. All filters hold for what it finds on its way.

-- fragment: filtered
-- Those of the `chosen` waits that are meant, each with who waits there and who holds it.
select c.place, w.id, w.classpath, w.created_date, w.queue, w.priority, w.due_at, w.triggerer_id, w.claim,
       w.parked_until, w.parked_why, w.on_kill, w.shared_key is not null as is_shared,
       t.id as task_instance_id, t.dag_id, t.run_id, t.task_id, t.map_index, t.trigger_timeout, t.try_deadline,
       t.sensor_deadline, j.hostname, j.is_alive, bide_now() - j.latest_heartbeat as heartbeat_age, bide_now() as now
from chosen c
cross join lateral (select w.* from trigger w where w.id = c.id limit 1) w
cross join lateral (
    select t.* from task_instance t where t.waits_for = w.id and (c.task is null or t.id = c.task) offset 0
) t
left join lateral (
    select j.hostname, j.latest_heartbeat, {{alive}} as is_alive from job j where j.id = w.triggerer_id limit 1
) j on true
where ($1::text is null or t.dag_id = $1) and ($2::text is null or t.run_id = $2)
  and ($3::text is null or t.task_id = $3) and ($4::text is null or coalesce(w.queue, '') = $4)
  and ($5::text is null or w.classpath ~ $5)
  and ($6::bigint is null or w.triggerer_id = $6)
  and (not $7::boolean or w.triggerer_id is null and w.due_at is null and w.parked_until is null)
  and (not $8::boolean or t.trigger_timeout < bide_now())
  and (not $9::boolean or w.parked_until is not null)
  and ($10::bigint is null or w.id = $10)

-- fragment: page
-- So many of them, and how far the list has come: what it has looked at, and whether there may be more.
select f.*, s.looked, s.last_id from (select count(*)::integer as looked, max(c.id) as last_id from chosen c) s
left join lateral (select * from ({{filtered}}) f order by f.place, f.id, f.task_instance_id limit $11) f on true
order by f.place, f.id, f.task_instance_id

-- name: list_waits
-- Waits, the oldest first, from one on.
with chosen as materialized (
    select w.id as place, w.id, null::bigint as task from trigger w where w.id > $12 order by w.id limit $13
)
{{page}}

-- name: list_waits_of_runs
-- Waits of the unfinished runs of a DAG, perhaps of one of them.
with chosen as materialized (
    select t.waits_for as place, t.waits_for as id, t.id as task
    from (
        select r.id from dag_run r
        where r.dag_id = $1 and r.state = 'running' and ($2::text is null or r.run_id = $2)
        union all
        select r.id from dag_run r
        where r.dag_id = $1 and r.state = 'queued' and ($2::text is null or r.run_id = $2)
    ) r
    cross join lateral (
        select t.id, t.waits_for from task_instance t where t.dag_run_id = r.id and t.state = 'deferred' offset 0
    ) t
    where t.waits_for > $12
    order by t.waits_for limit $13
)
{{page}}

-- name: list_waits_of_triggerer
-- What a triggerer holds, the oldest first.
with chosen as materialized (
    select w.id as place, w.id, null::bigint as task from trigger w
    where w.triggerer_id = $6 and w.id > $12 order by w.id limit $13
)
{{page}}

-- name: list_overdue_waits
-- Waits whose time is over, the most overdue first; they are all of them as long as a scheduler is alive.
with chosen as materialized (
    select row_number() over (order by t.trigger_timeout, t.id) as place, t.waits_for as id, t.id as task
    from (
        select t.id, t.trigger_timeout, t.waits_for from task_instance t
        where t.state = 'deferred' and t.trigger_timeout < bide_now()
        order by t.trigger_timeout, t.id limit $12
    ) t
)
{{page}}

-- name: list_free_waits
-- Waits that nobody holds, queue by queue, in the order in which they would be claimed.
with recursive queue (name) as (
    select min(coalesce(w.queue, '')) from trigger w
    where w.triggerer_id is null and w.due_at is null and w.parked_until is null and coalesce(w.queue, '') >= ''
    union all
    select (select min(coalesce(w.queue, '')) from trigger w
            where w.triggerer_id is null and w.due_at is null and w.parked_until is null
              and coalesce(w.queue, '') > queue.name)
    from queue where queue.name is not null
),
chosen as materialized (
    select row_number() over () as place, w.id, null::bigint as task
    from (select * from queue where queue.name is not null and ($4::text is null or queue.name = $4) order by 1) queue
    cross join lateral (
        select w.id from trigger w
        where w.triggerer_id is null and w.due_at is null and w.parked_until is null
          and coalesce(w.queue, '') = queue.name
        order by w.priority desc, w.id limit $12
    ) w
    limit $12
)
{{page}}

-- name: list_parked_waits
-- Waits that are put aside, the next to be tried again first.
with chosen as materialized (
    select row_number() over () as place, w.id, null::bigint as task from (
        select w.id from trigger w where w.parked_until is not null and w.parked_until > '-infinity'
        order by w.parked_until limit $12
    ) w
)
{{page}}
