-- What a scheduler looks at to find out what follows from what has changed. Looking locks nothing.

-- name: looks
-- What is to be looked at: a scheduler's own share of the runs, and what another one has left lying for a while.
select id, dag_run_id, task_id from look
where dag_run_id % $1 = $2 or at < bide_now() - interval '3 seconds'
order by id limit $3

-- name: look_at
-- Something in another run may follow from this.
insert into look (dag_run_id, task_id, at) select g.id, g.task_id, bide_now() from unnest($1::bigint[], $2::text[]) as g (id, task_id)

-- name: looked_at
-- The consequences are committed.
delete from look where id = any ($1::bigint[])

-- name: open_runs
-- The running ones of these runs.
select r.id, r.dag_id, r.run_id, r.epoch, r.dag_version_id, r.logical_date
from unnest($1::bigint[]) as given (id) {{its_running_run}}

-- name: tallies
-- How the instances of these tasks stand, one row for each state, with those that may be readied and their map indexes.
select w.dag_run_id, w.task_id, t.state, t.number, t.ids, t.map_indexes
from unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) as w (dag_run_id, dag_id, run_id, task_id)
cross join lateral (
    select t.state, count(*)::integer as number,
           array_agg(t.id order by t.id) filter (where t.state in ('none', 'restarting') and t.worker_id is null) as ids,
           array_agg(t.map_index order by t.id)
               filter (where t.state in ('none', 'restarting') and t.worker_id is null) as map_indexes
    from (
        select i.id, i.state, i.map_index, i.worker_id from task_instance i
        where i.dag_id = w.dag_id and i.run_id = w.run_id and i.task_id = w.task_id offset 0
    ) t
    group by t.state
) t

-- name: some_unfinished
-- A few unfinished tasks of each of these runs, of each state as many.
select r.id as dag_run_id, s.state, t.task_id
from unnest($1::bigint[]) as r (id) cross join unnest(array[
        'none', 'scheduled', 'queued', 'running', 'deferred', 'up_for_retry', 'up_for_reschedule', 'restarting', 'shutdown'
    ]) as s (state)
cross join lateral (
    select t.task_id from task_instance t where t.dag_run_id = r.id and t.state = s.state limit $2
) t

-- name: is_unfinished
-- Whether one of these tasks of a run is unfinished. The first that is found will do, so the states are gone through.
select true as found from unnest(array[
        'none', 'scheduled', 'queued', 'running', 'deferred', 'up_for_retry', 'up_for_reschedule', 'restarting', 'shutdown'
    ]) as s (state)
cross join lateral (
    select from task_instance t where t.dag_run_id = $1 and t.state = s.state and t.task_id = any ($2::text[]) limit 1
) t
limit 1

-- name: skip_lists
-- Which tasks these branching tasks have left out.
select w.dag_run_id, w.task_id, x.value
from unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) as w (dag_run_id, dag_id, run_id, task_id)
join xcom x on x.dag_id = w.dag_id and x.run_id = w.run_id and x.task_id = w.task_id and x.map_index = -1
where x.key = $5

-- name: lengths
-- How many elements these XComs have, of a mapped task how many instances have left one. No row: there is none.
select w.dag_run_id, w.task_id, w.key,
       case when bool_or(x.map_index >= 0) then count(*)::integer else max(element_count(x.value)) end as number
from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[]) as w (dag_run_id, dag_id, run_id, task_id, key)
cross join lateral (
    select x.map_index, x.value from xcom x
    where x.dag_id = w.dag_id and x.run_id = w.run_id and x.task_id = w.task_id and x.key = w.key offset 0
) x
group by w.dag_run_id, w.task_id, w.key

-- name: past
-- How these tasks stand in the run before, where there is one.
select w.dag_run_id, w.task_id, t.state
from unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::text[]) as w (dag_run_id, dag_id, logical_date, task_id)
cross join lateral (
    select r.run_id from dag_run r where r.dag_id = w.dag_id and r.logical_date < w.logical_date
    order by r.logical_date desc limit 1
) before
cross join lateral (
    select t.state from task_instance t
    where t.dag_id = w.dag_id and t.run_id = before.run_id and t.task_id = w.task_id offset 0
) t
group by w.dag_run_id, w.task_id, t.state

-- name: next_runs
-- The runs that come right after these, by logical date, and are running.
select w.dag_run_id, after.id from unnest($1::bigint[], $2::text[], $3::timestamptz[]) as w (dag_run_id, dag_id, logical_date)
cross join lateral (
    select r.id, r.state from dag_run r where r.dag_id = w.dag_id and r.logical_date > w.logical_date
    order by r.logical_date limit 1
) after
where after.state = 'running'

-- name: done_runs
-- Those of these running runs in which nothing is unfinished, with the states that their tasks have ended in.
select r.id, r.epoch, t.state, t.is_leaf
from unnest($1::bigint[]) as given (id) {{its_running_run}}
left join lateral (
    select distinct t.state, t.is_leaf from task_instance t where t.dag_run_id = r.id
) t on true
where not exists (
    select from task_instance t where t.dag_run_id = r.id
    and t.state in ('none', 'scheduled', 'queued', 'running', 'deferred', 'up_for_retry', 'up_for_reschedule',
                    'restarting', 'shutdown') offset 0)
order by r.id

-- name: unfinished
-- What a failure in these runs has still to stop.
select t.id, t.epoch from (
    select t.id, r.epoch from unnest($1::bigint[]) as given (id) {{its_running_run}} cross join lateral (
        select t.id from task_instance t where t.dag_run_id = r.id
          and t.state in ('none', 'scheduled', 'queued', 'running', 'deferred', 'up_for_retry', 'up_for_reschedule',
                          'restarting', 'shutdown') offset 0
    ) t
    offset 0
) t
order by t.id limit $2
