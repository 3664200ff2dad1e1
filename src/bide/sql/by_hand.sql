-- What a person says about waits. The fence is the wait: somebody means what stood on the screen, so a task that has gone
-- on since, or waits for something else by now, is left alone. An event that is under way is refused by its claim.

-- fragment: its_wait
-- Locks the task if it still waits for what was seen.
cross join lateral (
    select t.* from task_instance t where t.id = g.id and g.trigger_id = t.waits_for limit 1 for update
) t

-- fragment: stopped_waits
given as (
    select distinct on (id, trigger_id) * from unnest($3::bigint[], $4::bigint[]) as given (id, trigger_id)
    order by id, trigger_id
),
held as materialized (
    select g.id, t.state as from_state, t.waits_for, 'marked' as reason, $5::text as why from given g {{its_wait}}
)

-- name: fire_by_hand
-- The tasks go on with this event, as if their triggers had yielded it. Without one a timer does what it does at its
-- date. Nothing is stopped, since what was waited for has come: the wait goes without an on_kill. A wait that others
-- share stays; the answer asks for `gone`, or nobody would.
with {{moment}},
given as (
    select distinct on (id, trigger_id) * from unnest($2::bigint[], $3::bigint[]) as given (id, trigger_id)
    order by id, trigger_id
),
held as materialized (
    select g.id, t.state as from_state, t.waits_for, $4::text as why, coalesce($5::json, w.event) as event,
           w.ends and $5::json is null as ends
    from given g {{its_wait}}
    cross join lateral (select w.event, w.ends from trigger w where w.id = t.waits_for limit 1) w
),
changed as (
    update task_instance t set
        state = case when h.ends then 'success' else 'scheduled' end,
        end_date = case when h.ends then moment.now end,
        next_method = case when not h.ends then t.next_method end,
        next_kwargs = case when not h.ends then with_event(t.next_kwargs, h.event) end,
        trigger_timeout = null
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
gone as materialized (
    select count(*) from leave(array(select h.waits_for from held h where (select count(*) from changed) > 0))
),
{{announced}}, {{looked}}, {{entry}}
select id, dag_run_id, state, leg, try_number from changed cross join gone order by id

-- name: fail_by_hand
-- The waits have failed, a person says: the tasks go on to `__fail__` with these words. Retries hold.
with {{moment}}, {{stopped_waits}},
changed as (
    update task_instance t set
        state = 'scheduled', next_method = '__fail__', next_kwargs = $6::json, trigger_timeout = null
    from held h
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{let_go}}, {{entry}}
{{answer}}

-- name: cancel
-- The tasks shall wait no longer, and count as done in this way. A failure is final.
with {{moment}}, {{stopped_waits}},
changed as (
    update task_instance t set
        state = $6, end_date = moment.now, next_method = null, next_kwargs = null, trigger_timeout = null
    from held h cross join moment
    where t.id = any (array[h.id]) and $6 in ('success', 'failed', 'skipped')
    returning t.*, h.from_state, h.why
),
{{let_go}}, {{announced}}, {{looked}}, {{entry}}
{{answer}}

-- name: extend
-- The waits end by themselves at a later date, but never after the deadline of the try or of the sensor. A date, not a
-- while: said twice it is the same.
with {{moment}},
given as (
    select distinct on (id, trigger_id) *
    from unnest($2::bigint[], $3::bigint[], $4::timestamptz[]) as given (id, trigger_id, until)
    order by id, trigger_id
),
held as materialized (
    select g.id, t.state as from_state, u.until,
           'until ' || to_char(u.until at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') || 'Z' || coalesce(': ' || $5, '') as why
    from given g {{its_wait}}
    cross join lateral (select least(g.until, t.try_deadline, t.sensor_deadline) as until) u
    where t.trigger_timeout < u.until
),
changed as (
    update task_instance t set trigger_timeout = h.until
    from held h
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{entry}}
{{answer}}
