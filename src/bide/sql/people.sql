-- What takes a task out of whatever it is in: a person's word, or the end of its run. No leg and no claim stands
-- against it.
-- The leg grows, so that whoever had the task is refused from now on; a wait is let go, and its on_kill asked for.

-- fragment: runs_first
-- The runs come first in the lock order.
runs as materialized (
    select r.id, r.state in ('success', 'failed') as finished, r.state from dag_run r
    where r.id = any (array(select t.dag_run_id from task_instance t where t.id = any ($3::bigint[])))
    order by r.id for update of r
)

-- fragment: new_epoch
-- A run whose past was rewritten gets a new epoch. One that had ended is opened where what was `changed` may end it
-- in another way.
rewritten as (select c.dag_run_id, bool_or(c.reopens) as reopens from changed c group by c.dag_run_id),
epochs as (
    update dag_run r set
        epoch = r.epoch + 1,
        state = case when h.reopens then 'queued' else r.state end,
        queued_at = case when h.reopens then moment.now else r.queued_at end,
        start_date = case when not h.reopens then r.start_date end,
        end_date = case when not h.reopens then r.end_date end
    from (select runs.id, runs.state, runs.finished and w.reopens as reopens
          from rewritten w join runs on runs.id = w.dag_run_id) h
    cross join moment
    where r.id = any (array[h.id])
    returning r.id, r.state, h.state as from_state, h.reopens
),
reopened as (
    insert into history (at, verb, dag_run_id, from_state, to_state, who, why)
    select moment.now, 'reopen', e.id, e.from_state, e.state, $1, '{{verb}}'
    from epochs e cross join moment
    where e.reopens
)

-- fragment: nothing_left
-- Nothing is left of what the task was doing, except a child that its worker has still to stop.
leg = t.leg + 1, next_method = null, next_kwargs = null, wake_at = null, trigger_timeout = null

-- name: clear
-- It shall run afresh, with all its retries.
with {{moment}}, {{runs_first}},
held as materialized (
    select t.id, t.state as from_state, t.waits_for, true as reopens, 'cleared' as reason, $4::text as why
    from task_instance t
    where t.id = any ($3::bigint[]) and (select count(*) from runs) > 0
      and t.state not in ('none', 'restarting')
    order by t.id for update of t
),
changed as (
    update task_instance t set
        state = case when t.state in ('scheduled', 'queued', 'deferred', 'up_for_retry', 'up_for_reschedule')
                     then 'none' else 'restarting' end,
        max_tries = t.try_number + t.retries,
        queued_at = null, start_date = null, end_date = null, try_deadline = null, sensor_deadline = null,
        {{nothing_left}}
    from held h
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why, h.reopens
),
{{let_go}}, {{new_epoch}}, {{looked}}, {{entry}}
{{answer}}

-- name: mark
-- It shall count as done. A run that has ended is judged again only where a leaf has failed that had not, or the
-- other way round: nothing else decides how a run ends.
with {{moment}}, {{runs_first}},
held as materialized (
    select t.id, t.state as from_state, t.waits_for, 'marked' as reason, $5::text as why,
           t.is_leaf and (t.state in ('failed', 'upstream_failed')) <> ($4 = 'failed') as reopens
    from task_instance t
    where t.id = any ($3::bigint[]) and (select count(*) from runs) > 0
      and $4 in ('success', 'failed', 'skipped') and t.state <> $4
    order by t.id for update of t
),
changed as (
    update task_instance t set state = $4, end_date = moment.now, {{nothing_left}}
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why, h.reopens
),
{{let_go}}, {{new_epoch}}, {{announced}}, {{looked}}, {{entry}}
{{answer}}

-- name: stop
-- Its run timed out, or failed fast. The epoch is the proof that nobody has cleared anything in it since.
with {{moment}},
given as (
    select distinct on (id, epoch) * from unnest($3::bigint[], $4::integer[]) as given (id, epoch)
),
{{sure}},
held as materialized (
    select t.id, t.state as from_state, t.waits_for, $5::text as reason, $5::text as why
    from task_instance t
    where t.id = any (array(select sure.id from sure))
      and t.state not in ('success', 'failed', 'skipped', 'upstream_failed', 'removed')
    order by t.id for update of t
),
changed as (
    update task_instance t set state = 'skipped', end_date = moment.now, {{nothing_left}}
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{let_go}}, {{announced}}, {{looked}}, {{entry}}
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
changed as (
    update task_instance t set state = 'removed', end_date = moment.now, {{nothing_left}}
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{let_go}}, {{looked}}, {{entry}}
{{answer}}
