-- What takes a task out of whatever it is in: a person's word, or the end of its run. Nobody's fence stands against it.
-- The leg grows, so that whoever had the task is refused from now on; a wait is let go, and its on_kill asked for.

-- fragment: new_epoch
-- The runs come first in the lock order. A run whose past is rewritten gets a new epoch, and is opened if it had ended.
runs as materialized (
    select r.id, r.state from dag_run r
    where r.id = any (array(select t.dag_run_id from task_instance t where t.id = any ($3::bigint[])))
    order by r.id for update of r
),
epochs as (
    update dag_run r set
        epoch = r.epoch + 1,
        state = case when r.state in ('success', 'failed') then 'queued' else r.state end,
        queued_at = case when r.state in ('success', 'failed') then moment.now else r.queued_at end,
        start_date = case when r.state not in ('success', 'failed') then r.start_date end,
        end_date = null
    from runs cross join moment
    where r.id = runs.id
    returning r.id, r.state, runs.state as from_state
),
reopened as (
    insert into history (at, verb, dag_run_id, from_state, to_state, who, why)
    select moment.now, 'reopen', e.id, e.from_state, e.state, $1, '{{verb}}'
    from epochs e cross join moment
    where e.from_state in ('success', 'failed')
)

-- fragment: nothing_left
-- Nothing is left of what the task was doing, except a child that its worker has still to stop.
leg = t.leg + 1, next_method = null, next_kwargs = null, wake_at = null, trigger_timeout = null

-- name: clear
-- It shall run afresh, with all its retries.
with {{moment}}, {{new_epoch}},
held as materialized (
    select t.id, t.state as from_state, t.waits_for, 'cleared' as reason, $4::text as why
    from task_instance t
    where t.id = any ($3::bigint[]) and (select count(*) from runs) > 0
      and t.state not in ('none', 'restarting')
    order by t.id for update of t
),
{{let_go}},
changed as (
    update task_instance t set
        state = case when t.state in ('scheduled', 'queued', 'deferred', 'up_for_retry', 'up_for_reschedule')
                     then 'none' else 'restarting' end,
        max_tries = t.try_number + t.retries, trigger_id = null,
        queued_at = null, start_date = null, end_date = null, try_deadline = null, sensor_deadline = null,
        {{nothing_left}}
    from held h
    where t.id = h.id
    returning t.*, h.from_state, h.why
),
{{entry}}
{{answer}}

-- name: mark
-- It shall count as done.
with {{moment}}, {{new_epoch}},
held as materialized (
    select t.id, t.state as from_state, t.waits_for, 'marked' as reason, $5::text as why
    from task_instance t
    where t.id = any ($3::bigint[]) and (select count(*) from runs) > 0
      and $4 in ('success', 'failed', 'skipped') and t.state <> $4
    order by t.id for update of t
),
{{let_go}},
changed as (
    update task_instance t set state = $4, end_date = moment.now, {{nothing_left}}
    from held h cross join moment
    where t.id = h.id
    returning t.*, h.from_state, h.why
),
{{announced}}, {{entry}}
{{answer}}

-- name: stop
-- Its run timed out, or failed fast.
with {{moment}},
held as materialized (
    select t.id, t.state as from_state, t.waits_for, $4::text as reason, $4::text as why
    from task_instance t
    where t.id = any ($3::bigint[])
      and t.state not in ('success', 'failed', 'skipped', 'upstream_failed', 'removed')
    order by t.id for update of t
),
{{let_go}},
changed as (
    update task_instance t set state = 'skipped', end_date = moment.now, {{nothing_left}}
    from held h cross join moment
    where t.id = h.id
    returning t.*, h.from_state, h.why
),
{{announced}}, {{entry}}
{{answer}}

-- name: remove
-- It is no longer in the DAG.
with {{moment}},
held as materialized (
    select t.id, t.state as from_state, t.waits_for, 'removed' as reason, null as why
    from task_instance t
    where t.id = any ($3::bigint[])
      and t.state not in ('success', 'failed', 'skipped', 'upstream_failed', 'removed')
    order by t.id for update of t
),
{{let_go}},
changed as (
    update task_instance t set state = 'removed', end_date = moment.now, {{nothing_left}}
    from held h cross join moment
    where t.id = h.id
    returning t.*, h.from_state, h.why
),
{{entry}}
{{answer}}
