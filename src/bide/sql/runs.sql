-- Runs, from launch to end, and what a scheduler says about tasks that have not started. Whoever decides on a picture
-- of a run proves by the epoch that it is still the last one; a person who rewrites the past makes a new epoch.

-- fragment: given_epochs
-- Runs, or tasks of runs, each with the epoch of the picture on which something was decided about it.
given as (
    select distinct on (id, epoch) * from unnest($2::bigint[], $3::integer[]) as given (id, epoch)
    order by id, epoch
)

-- fragment: its_run
-- Locks the run that is meant, if it is still in that epoch, in the order of `given`.
cross join lateral (
    select r.* from dag_run r where r.id = g.id and r.epoch = g.epoch limit 1 for update
) r

-- name: begin
-- The DAG may have one more active run. The turn is the proof.
with {{moment}},
turned as (update turn set number = number + 1 where number = $2 returning number),
held as materialized (
    select r.id, r.state as from_state from (select distinct unnest($3::bigint[]) as id order by 1) g cross join lateral (
        select r.id, r.state from dag_run r where r.id = g.id and r.state = 'queued' limit 1 for update
    ) r
    where (select count(*) from turned) = 1
),
changed as (
    update dag_run r set
        state = 'running', start_date = coalesce(r.start_date, moment.now), timeout_at = moment.now + r.dagrun_timeout
    from held h cross join moment
    where r.id = any (array[h.id])
    returning r.*, h.from_state, null as why
),
looked as (insert into look (dag_run_id, at) select c.id, moment.now from changed c cross join moment),
{{run_entry}}
select id, state from changed order by id

-- fragment: run_announced
-- Whoever asked to be called for such an end of a run will be, in the context of a task that it came from. `changed` has
-- a reason.
run_announced as (
    insert into callback (task_instance_id, dag_run_id, callback_type, try_number, reason, queue, created_at)
    select t.id, c.id, ends.kind, t.try_number, c.reason, t.queue, moment.now
    from changed c cross join moment
    join (values ('success', 'success'), ('failed', 'failure')) as ends (state, kind) on ends.state = c.state
    cross join lateral (
        select from dag_version v where v.id = c.dag_version_id and ends.kind = any (v.callbacks) limit 1
    ) v
    cross join lateral (
        select t.id, t.try_number, t.queue from task_instance t where t.dag_run_id = c.id
        order by t.state = c.state desc, t.end_date desc nulls last, t.id desc limit 1
    ) t
)

-- fragment: all_done
not exists (select from task_instance t where t.dag_run_id = r.id
            and t.state not in ('success', 'failed', 'skipped', 'upstream_failed', 'removed') offset 0)

-- name: conclude
-- Every task is terminal and the model has said how the run ended. One that is out of time is left to `expire`.
with {{moment}},
given as (
    select distinct on (id, epoch) *
    from unnest($2::bigint[], $3::integer[], $4::text[]) as given (id, epoch, to_state)
    order by id, epoch
),
held as materialized (
    select g.id, r.state as from_state, g.to_state from given g {{its_run}}
    where r.state = 'running' and (r.timeout_at is null or r.timeout_at > (select now from moment))
      and g.to_state in ('success', 'failed') and {{all_done}}
),
changed as (
    update dag_run r set state = h.to_state, end_date = moment.now, timeout_at = null
    from held h cross join moment
    where r.id = any (array[h.id])
    returning r.*, h.from_state, null as why, case r.state when 'success' then 'success' else 'task_failure' end as reason
),
{{run_announced}},
{{run_entry}}
select id, state from changed order by id

-- name: expire
-- The run took longer than it may. Its tasks have been stopped before.
with {{moment}}, {{given_epochs}},
held as materialized (
    select g.id, r.state as from_state from given g {{its_run}}
    where r.state = 'running' and r.timeout_at <= (select now from moment) and {{all_done}}
),
changed as (
    update dag_run r set state = 'failed', end_date = moment.now, timeout_at = null
    from held h cross join moment
    where r.id = any (array[h.id])
    returning r.*, h.from_state, 'it took longer than dagrun_timeout' as why, 'timed_out' as reason
),
{{run_announced}},
{{run_entry}}
select id, state from changed order by id

-- name: mark_run
-- A person says how the run ended. Its tasks have been marked before.
with {{moment}}, {{given_epochs}},
held as materialized (
    select g.id, r.state as from_state from given g {{its_run}}
    where r.state in ('queued', 'running') and $4 in ('success', 'failed') and {{all_done}}
),
changed as (
    update dag_run r set state = $4, end_date = moment.now, timeout_at = null
    from held h cross join moment
    where r.id = any (array[h.id])
    returning r.*, h.from_state, $5::text as why, 'marked' as reason
),
{{run_announced}},
{{run_entry}}
select id, state from changed order by id

-- name: ready
-- Its trigger rule holds. A task that was cleared waits until its worker has said that the old child is gone.
with {{moment}}, {{given_epochs}}, {{sure}},
held as materialized (
    select t.id, t.state as from_state, null as why from task_instance t
    where t.id = any (array(select sure.id from sure))
      and t.state in ('none', 'restarting') and t.worker_id is null
    order by t.id for update of t
),
changed as (
    update task_instance t set state = 'scheduled'
    from held h where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{entry}}
{{answer}}

-- name: block
-- Its trigger rule can no longer hold, because something upstream failed.
with {{moment}}, {{given_epochs}}, {{sure}},
held as materialized (
    select t.id, t.state as from_state, null as why from task_instance t
    where t.id = any (array(select sure.id from sure))
      and (t.state in ('none', 'restarting') or t.state = 'scheduled' and t.start_date is null)
    order by t.id for update of t
),
changed as (
    update task_instance t set state = 'upstream_failed', end_date = moment.now
    from held h cross join moment where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{looked}}, {{entry}}
{{answer}}

-- name: skip_unstarted
-- A branch went elsewhere, or its trigger rule says so.
with {{moment}}, {{given_epochs}}, {{sure}},
held as materialized (
    select t.id, t.state as from_state, null as why from task_instance t
    where t.id = any (array(select sure.id from sure))
      and (t.state in ('none', 'restarting') or t.state = 'scheduled' and t.start_date is null)
    order by t.id for update of t
),
changed as (
    update task_instance t set state = 'skipped', end_date = moment.now
    from held h cross join moment where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{looked}}, {{entry}}
{{answer}}

-- name: pass_empty
-- Its trigger rule holds and it has nothing to do: no worker hears of it.
with {{moment}}, {{given_epochs}}, {{sure}},
held as materialized (
    select t.id, t.state as from_state, null as why from task_instance t
    where t.id = any (array(select sure.id from sure))
      and t.state in ('none', 'restarting') and t.worker_id is null
    order by t.id for update of t
),
changed as (
    update task_instance t set state = 'success', start_date = moment.now, end_date = moment.now
    from held h cross join moment where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{announced}}, {{looked}}, {{entry}}
{{answer}}
