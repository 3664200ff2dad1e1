-- The way of a task from "may run" to an executor, and back when the executor did not take it.

-- name: enqueue
-- Pool, concurrency and priority allow. The turn is the proof that nobody has handed out room since it was counted.
-- No leg starts before the on_kill of an earlier one has been answered, and none that has only to fail.
with {{moment}},
turned as (update turn set number = number + 1 where number = $2 returning number),
given as (
    select distinct on (id, leg) * from unnest($3::bigint[], $4::integer[]) as given (id, leg) order by id, leg
),
held as materialized (
    select g.id, t.state as from_state, null as why from given g {{its_task}}
    where (select count(*) from turned) = 1
      and t.state = 'scheduled' and t.next_method is distinct from '__fail__'
      and {{answered}}
),
changed as (
    update task_instance t set state = 'queued', leg = t.leg + 1,
        queued_at = case when t.start_date is null then moment.now else t.queued_at end
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{entry}}
{{answer}}

-- name: unqueue
-- The executor lost or refused it.
with {{moment}},
given as (
    select distinct on (id, leg) * from unnest($2::bigint[], $3::integer[], $4::text[]) as given (id, leg, why)
    order by id, leg
),
held as materialized (
    select g.*, t.state as from_state from given g {{its_task}} where t.state = 'queued'
),
changed as (
    update task_instance t set state = 'scheduled'
    from held h
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{entry}}
{{answer}}

-- name: wake
-- The date of the next try or look has come. A new try forgets how the last one ended.
with {{moment}},
due as materialized (
    select t.id from task_instance t
    where t.wake_at <= (select now from moment) order by t.wake_at, t.id limit $2
),
held as materialized (
    select t.id, t.state as from_state, t.state = 'up_for_retry' as afresh, null as why
    from {{due_tasks}}
    where t.wake_at <= (select now from moment)
),
changed as (
    update task_instance t set
        state = 'scheduled', wake_at = null,
        start_date = case when not h.afresh then t.start_date end,
        try_deadline = case when not h.afresh then t.try_deadline end,
        next_method = null, next_kwargs = null
    from held h
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{entry}}
{{answer}}
