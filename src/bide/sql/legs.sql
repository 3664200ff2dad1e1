-- What workers say about the legs that they were given. The fence is the leg.

-- fragment: given_legs
given as (
    select distinct on (id, leg) id, leg, null as why from unnest($2::bigint[], $3::integer[]) as given (id, leg)
    order by id, leg
)

-- fragment: over
-- A leg that has ended leaves its worker.
worker_id = null, child_leg = null

-- name: start
-- A child takes the leg up.
with {{moment}},
given as (
    select distinct on (id, leg) * from unnest($3::bigint[], $4::integer[]) as given (id, leg) order by id, leg
),
held as materialized (
    select g.id, t.state as from_state, t.start_date is null as opens, null as why from given g {{its_task}}
    where t.state = 'queued' and exists (select from job j where j.id = $2 and j.state = 'running')
),
changed as (
    update task_instance t set
        state = 'running', worker_id = $2, child_leg = t.leg,
        {{opening}}
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why, h.opens, moment.now
),
{{forgotten}},
{{entry}}
select c.id, c.leg, c.dag_run_id, c.dag_id, c.run_id, c.task_id, c.map_index, c.try_number, c.max_tries, c.retries,
       c.next_method, c.next_kwargs, c.try_deadline - c.now as try_time_left,
       c.sensor_deadline - c.now as sensor_time_left, c.opens, c.now, r.dag_version_id, r.run_type, r.logical_date,
       r.data_interval_start, r.data_interval_end, r.start_date as run_start_date, r.conf, c.queue
from changed c cross join lateral (select r.* from dag_run r where r.id = c.dag_run_id limit 1) r
order by c.id

-- name: succeed
-- The task's code returned: its XComs are kept and its end is announced.
with {{moment}},
xcoms as (
    select id, leg, array_agg(key) as xcom_keys, array_agg(value) as xcom_values
    from unnest($4::bigint[], $5::integer[], $6::text[], $7::json[]) as x (id, leg, key, value)
    group by id, leg
),
given as (
    select distinct on (id, leg) *, null as why
    from unnest($2::bigint[], $3::integer[]) as given (id, leg) left join xcoms using (id, leg)
    order by id, leg
),
{{running}},
changed as (
    update task_instance t set
        state = 'success', end_date = moment.now, next_method = null, next_kwargs = null, {{over}}
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why, h.xcom_keys, h.xcom_values
),
{{pushed}},
{{announced}}, {{looked}}, {{entry}}
{{answer}}

-- fragment: ending
-- Legs that end on a worker, or in their wait with nothing but to be finished. The caller names the state it leaves: a
-- worker's late word never touches a leg that the scheduler has to finish.
held as materialized (
    select g.* from given g {{its_task}}
    where t.state = g.from_state and (t.state = 'running' or (t.state = 'scheduled' and t.next_method = '__fail__'))
)

-- name: skip
-- The task's code found that there is nothing to do, or a sensor whose time is up takes that softly.
with {{moment}},
given as (
    select distinct on (id, leg) *
    from unnest($2::bigint[], $3::integer[], $4::text[], $5::text[]) as given (id, leg, why, from_state)
    order by id, leg
),
{{ending}},
changed as (
    update task_instance t set
        state = 'skipped', end_date = moment.now, next_method = null, next_kwargs = null, {{over}}
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{announced}}, {{looked}}, {{entry}}
{{answer}}

-- name: fail
-- The try has failed, on a worker or in its wait. With a time to rest the task tries again after it, else it is over.
with {{moment}},
given as (
    select distinct on (id, leg) *
    from unnest($2::bigint[], $3::integer[], $4::text[], $5::interval[], $6::text[])
        as given (id, leg, from_state, rest, why)
    order by id, leg
),
{{ending}},
changed as (
    update task_instance t set
        state = case when h.rest is null then 'failed' else 'up_for_retry' end,
        end_date = case when h.rest is null then moment.now end,
        wake_at = moment.now + h.rest,
        next_method = case when h.from_state = 'scheduled' then t.next_method end,
        next_kwargs = case when h.from_state = 'scheduled' then t.next_kwargs end,
        {{over}}
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{announced}}, {{looked}}, {{entry}}
{{answer}}

-- name: reschedule
-- A sensor looks again at a date, or after a while.
with {{moment}},
given as (
    select distinct on (id, leg) *, null as why
    from unnest($2::bigint[], $3::integer[], $4::timestamptz[], $5::interval[]) as given (id, leg, until, after)
    order by id, leg
),
{{running}},
changed as (
    update task_instance t set
        state = 'up_for_reschedule', wake_at = coalesce(h.until, moment.now + h.after),
        next_method = null, next_kwargs = null, {{over}}
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{entry}}
{{answer}}

-- name: drain
-- The worker leaves and its grace has run out: the same leg will run again elsewhere once its child is gone.
with {{moment}}, {{given_legs}},
{{running}},
changed as (
    update task_instance t set state = 'shutdown'
    from held h
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{entry}}
{{answer}}

-- name: stopped
-- The child of a leg that was drained or taken away is gone. The fence is the leg of that child.
with {{moment}}, {{given_legs}},
held as materialized (
    select g.*, t.state as from_state from given g cross join lateral (
        select t.state from task_instance t where t.id = g.id and g.leg = t.child_leg limit 1 for update
    ) t
    where t.state in ('shutdown', 'restarting', 'success', 'failed', 'skipped', 'upstream_failed', 'removed')
),
changed as (
    update task_instance t set
        state = case when t.state = 'shutdown' then 'scheduled' else t.state end, {{over}}
    from held h
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{looked}}, {{entry}}
{{answer}}

-- name: rescue
-- The worker is gone. A leg that it ran has failed; a leg that was taken away from it is free.
-- `offset` keeps PostgreSQL from walking the primary key for the sake of the order.
with {{moment}},
due as materialized (
    select * from (
        select t.id, t.worker_id, 'its worker ' || j.id || ' on ' || j.hostname || ' is gone' as why
        from task_instance t join job j on j.id = t.worker_id and j.state <> 'running'
        where t.worker_id is not null offset 0
    ) d order by d.id limit $2
),
held as materialized (
    select d.id, t.state as from_state, d.why
    from {{due_tasks}}
    where t.worker_id = d.worker_id and t.state in
        ('running', 'shutdown', 'restarting', 'success', 'failed', 'skipped', 'upstream_failed', 'removed')
),
changed as (
    update task_instance t set
        state = case when t.state in ('running', 'shutdown') then 'scheduled' else t.state end,
        next_method = case when t.state = 'running' then '__fail__' else t.next_method end,
        next_kwargs = case when t.state = 'running' then json_build_object('error', h.why, 'reason', 'zombie')
                           else t.next_kwargs end,
        leg = t.leg + 1, {{over}}
    from held h
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{looked}}, {{entry}}
{{answer}}
