-- Pieces that the statements of several files share. The words that they rely on:
--   given    what the caller said, one row for each item, each item once, in the order of the ids
--   held     the rows that the verb may change, locked in the order of their ids
--   changed  the rows as they are now, with `from_state` and `why`
-- The first parameter of every verb is who says it.
--
-- Plans are kept, and the statistics they come from are always late about tables that fill and empty in a minute. So
-- each row is found in the one way that stays right, by the index: joins to a table of rows that come and go are either
-- `lateral` with `limit` or `offset`, or say `= any (array[x])` where `= x` is meant, which can be looked up, but not
-- merged or hashed. tests/store/test_plans.py refuses what could read a whole table.

-- fragment: moment
moment as materialized (select bide_now() as now)

-- fragment: alive
-- Whether the process `j` is alive, as far as its heartbeat tells.
(j.state = 'running' and j.suspected_at is null
 and j.latest_heartbeat >= bide_now() - 2.1 * j.heartbeat_sec * interval '1 second')

-- fragment: its_task
-- Locks the task instance that is meant, if it is still in that leg, in the order of `given`. `limit` keeps PostgreSQL
-- from looking for it by its state, of which the statistics always speak too late.
cross join lateral (
    select t.* from task_instance t where t.id = g.id and g.leg = t.leg limit 1 for update
) t

-- fragment: its_running_run
-- The run that is meant, if it is running. Alone its number is looked up: older servers of PostgreSQL look several up
-- by reading all running runs, where there are few of them on the day on which the plan is made.
cross join lateral (select r.* from dag_run r where r.id = given.id and r.state = 'running' limit 1) r

-- fragment: due_tasks
-- Locks the task instances that the statement has found `due`, but for those that somebody else has locked. What made
-- them due is asked again after this, since it may have changed before the lock.
(select * from due order by id) d cross join lateral (
    select t.* from task_instance t where t.id = d.id limit 1 for update skip locked
) t

-- fragment: running
held as materialized (
    select g.*, t.state as from_state, t.priority_weight from given g {{its_task}} where t.state = 'running'
)

-- fragment: entry
-- Where a verb changed task instances, one history entry for each.
entry as (
    insert into history (
        at, verb, task_instance_id, dag_run_id, trigger_id, from_state, to_state, leg, try_number, who, why)
    select moment.now, '{{verb}}', c.id, c.dag_run_id, c.trigger_id, c.from_state, c.state, c.leg, c.try_number, $1, c.why
    from changed c cross join moment
)

-- fragment: run_entry
-- Where a verb changed runs, one history entry for each.
run_entry as (
    insert into history (at, verb, dag_run_id, from_state, to_state, who, why)
    select moment.now, '{{verb}}', c.id, c.from_state, c.state, $1, c.why from changed c cross join moment
)

-- fragment: looked
-- What has ended, or may begin anew, has consequences: a scheduler has to look at it.
looked as (
    insert into look (dag_run_id, task_id, at)
    select distinct c.dag_run_id, c.task_id, moment.now from changed c cross join moment
    where c.state in ('success', 'failed', 'skipped', 'upstream_failed', 'removed')
       or c.state in ('none', 'restarting') and c.worker_id is null
)

-- fragment: opening
-- The first leg of a try opens it: a number, a start, its deadlines. `held` says whether it `opens`.
try_number = t.try_number + h.opens::integer,
start_date = case when h.opens then moment.now else t.start_date end,
try_deadline = case when h.opens then moment.now + t.execution_timeout else t.try_deadline end,
sensor_deadline = coalesce(t.sensor_deadline, moment.now + t.sensor_timeout)

-- fragment: forgotten
-- A new try knows no XComs of the last one, but for those whose keys say that they are to be kept: the number of a job
-- that may still be going on elsewhere.
forgotten as (
    delete from xcom x using changed c
    where c.opens and c.try_number > 1
      and x.dag_id = any (array[c.dag_id]) and x.run_id = any (array[c.run_id])
      and x.task_id = any (array[c.task_id]) and x.map_index = any (array[c.map_index])
      and not starts_with(x.key, 'kept.')
)

-- fragment: pushed
-- The XComs of those that were heard.
pushed as (
    insert into xcom (dag_id, run_id, task_id, map_index, key, value, timestamp)
    select distinct on (c.id, x.key) c.dag_id, c.run_id, c.task_id, c.map_index, x.key, x.value, moment.now
    from changed c cross join lateral unnest(c.xcom_keys, c.xcom_values) as x (key, value) cross join moment
    on conflict (dag_id, run_id, task_id, map_index, key) do update
    set value = excluded.value, timestamp = excluded.timestamp
)

-- fragment: answered
-- No leg starts before the on_kill of the wait that it comes from has been answered.
not exists (select from kill k where k.trigger_id = t.trigger_id offset 0)

-- fragment: sure
-- Locks the runs for as long as the statement takes, so that nobody opens a new epoch in between; then the tasks.
-- `given` has the tasks, each with the epoch of the picture on which something was decided about it.
placed as materialized (
    select g.id, g.epoch, t.dag_run_id from given g
    cross join lateral (select t.dag_run_id from task_instance t where t.id = g.id limit 1) t
),
pictured as materialized (
    -- The state is asked afterwards, so that the run is found by nothing but its id.
    select r.id, r.epoch from (select distinct dag_run_id from placed order by dag_run_id) p
    cross join lateral (
        select r.id, r.epoch, r.state from dag_run r where r.id = p.dag_run_id limit 1 for share
    ) r
    where r.state = 'running'
),
sure as materialized (
    select g.id from placed g join pictured p on p.id = g.dag_run_id and p.epoch = g.epoch
)

-- fragment: announced
-- Whoever asked to be called for such an end will be.
announced as (
    insert into callback (task_instance_id, callback_type, try_number, reason, queue, created_at)
    select c.id, ends.kind, c.try_number, c.why, c.queue, moment.now
    from changed c cross join moment
    join (values ('success', 'success'), ('failed', 'failure'), ('up_for_retry', 'retry'), ('skipped', 'skipped'))
        as ends (state, kind) on ends.state = c.state and ends.kind = any (c.callbacks)
    order by c.id
)

-- fragment: answer
select id, dag_run_id, state, leg, try_number from changed order by id

-- fragment: let_go
-- What `changed` task instances waited for before. A wait that nobody else shares goes, and if its class has an on_kill,
-- that is asked for. `held` has waits_for and reason; the second parameter is the time an on_kill may take.
-- All of `changed` is counted first, because the function looks at the task instances as they have become.
asked as (
    insert into kill (
        trigger_id, task_instance_id, classpath, kwargs, queue, dag_version_id, triggerer_id, claim, reason, asked_at,
        deadline)
    select distinct on (w.id) w.id, h.id, w.classpath, w.kwargs, w.queue, w.dag_version_id, w.triggerer_id, w.claim,
           h.reason, moment.now, moment.now + $2
    from leave(array(
        select h.waits_for from held h where h.waits_for is not null and (select count(*) from changed) > 0)) w
    join held h on h.waits_for = w.id cross join moment
    where w.on_kill
    order by w.id, h.id
)
