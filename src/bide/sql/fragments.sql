-- Pieces that the statements of several files share. The words that they rely on:
--   given    what the caller said, one row for each item, each item once
--   held     the rows that the verb may change, locked in the order of their ids
--   changed  the rows as they are now, with `from_state` and `why`
-- The first parameter of every verb is who says it.

-- fragment: moment
moment as materialized (select bide_now() as now)

-- fragment: entry
-- Where a verb changed task instances, one history entry for each.
entry as (
    insert into history (
        at, verb, task_instance_id, dag_run_id, trigger_id, from_state, to_state, leg, try_number, who, why)
    select moment.now, '{{verb}}', c.id, c.dag_run_id, c.trigger_id, c.from_state, c.state, c.leg, c.try_number, $1, c.why
    from changed c cross join moment
)

-- fragment: announced
-- Whoever asked to be called for such an end will be.
announced as (
    insert into callback (task_instance_id, callback_type, try_number, created_at)
    select c.id, ends.kind, c.try_number, moment.now
    from changed c cross join moment
    join (values ('success', 'success'), ('failed', 'failure'), ('up_for_retry', 'retry'), ('skipped', 'skipped'))
        as ends (state, kind) on ends.state = c.state and ends.kind = any (c.callbacks)
)

-- fragment: answer
select id, dag_run_id, state, leg, try_number from changed order by id

-- fragment: let_go
-- Takes `held` task instances out of their waits. A wait that nobody else shares goes, and if its class has an
-- on_kill, that is asked for. `held` has waits_for and reason; the second parameter is the time an on_kill may take.
freed as materialized (
    select w.* from trigger w
    where w.id = any (array(select h.waits_for from held h where h.waits_for is not null))
    order by w.id for update of w
),
deserted as materialized (
    select distinct on (f.id) f.*, h.id as task_instance_id, h.reason
    from freed f join held h on h.waits_for = f.id
    where not exists (
        select from task_instance t where t.waits_for = f.id and t.id not in (select o.id from held o))
    order by f.id, h.id
),
asked as (
    insert into kill (
        trigger_id, task_instance_id, classpath, kwargs, queue, triggerer_id, claim, reason, asked_at, deadline)
    select d.id, d.task_instance_id, d.classpath, d.kwargs, d.queue, d.triggerer_id, d.claim, d.reason,
           moment.now, moment.now + $2
    from deserted d cross join moment
    where d.on_kill
),
gone as (delete from trigger w using deserted d where w.id = d.id)
