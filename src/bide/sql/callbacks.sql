-- Calls of code that somebody wants to be called after a try or a run. The task instances stay where they are.

-- fragment: callback_entry
callback_entry as (
    insert into history (at, verb, callback_id, task_instance_id, job_id, claim, who, why)
    select moment.now, '{{verb}}', c.id, c.task_instance_id, c.worker_id, c.claim, $1, c.why
    from changed c cross join moment
)

-- name: take_callback
-- A worker takes up calls that nobody has, of its own queues, the oldest first. A process that was buried gets none.
with {{moment}},
free as materialized (
    select b.id from unnest($3::text[]) as served (queue) cross join lateral (
        select c.id from callback c
        where c.state = 'pending' and c.trigger_id is null and c.queue = served.queue
          and exists (select from job j where j.id = $2 and j.state = 'running')
        order by c.id limit $4 for update of c skip locked
    ) b
    order by b.id limit $4
),
changed as (
    update callback b set state = 'running', worker_id = $2, claim = b.claim + 1, deadline = moment.now + $5::interval
    from free cross join moment where b.id = any (array[free.id])
    returning b.*, b.callback_type as why
),
{{callback_entry}}
select c.id as callback_id, c.claim, c.callback_type, c.dag_run_id is not null as of_run, c.reason, t.id, t.leg,
       t.dag_run_id, t.dag_id, t.run_id, t.task_id, t.map_index, coalesce(c.try_number, t.try_number) as try_number,
       t.max_tries, t.retries, null as next_method, null as next_kwargs, null::interval as try_time_left,
       null::interval as sensor_time_left, false as opens, moment.now, r.dag_version_id, r.run_type, r.logical_date,
       r.data_interval_start, r.data_interval_end, r.start_date as run_start_date, r.conf, t.queue
from changed c cross join moment
cross join lateral (select t.* from task_instance t where t.id = c.task_instance_id limit 1) t
cross join lateral (select r.* from dag_run r where r.id = t.dag_run_id limit 1) r
order by c.id

-- name: end_callback
-- It was called. With an error it has failed, which is all that becomes of that.
with {{moment}},
given as (
    select distinct on (id, claim) * from unnest($2::bigint[], $3::integer[], $4::text[]) as given (id, claim, error)
    order by id, claim
),
held as materialized (
    select g.id, g.error from given g cross join lateral (
        select b.state from callback b where b.id = g.id and b.claim = g.claim limit 1 for update of b
    ) b
    where b.state = 'running'
),
changed as (
    update callback b set
        state = case when h.error is null then 'success' else 'failed' end, deadline = null, ended_at = moment.now,
        error = h.error
    from held h cross join moment where b.id = any (array[h.id])
    returning b.*, b.error as why
),
{{callback_entry}}
select id, claim from changed order by id

-- name: free_callback
-- Its worker is gone, or has not said what became of it in time: others may take it. What has brought down so many
-- workers is given up.
with {{moment}},
held as materialized (
    select b.id, b.claim >= $2 as hopeless,
           case when b.deadline <= moment.now then 'nothing was heard of it'
                else 'worker ' || b.worker_id || ' is gone' end as why
    from callback b cross join moment
    where b.state = 'running' and (
        b.deadline <= moment.now
        or not exists (select from job j where j.id = b.worker_id and j.state = 'running' offset 0))
    order by b.id limit $3 for update of b skip locked
),
changed as (
    update callback b set
        state = case when h.hopeless then 'failed' else 'pending' end, claim = b.claim + 1, deadline = null,
        ended_at = case when h.hopeless then moment.now end, error = case when h.hopeless then h.why end
    from held h cross join moment where b.id = any (array[h.id])
    returning b.*, h.why
),
{{callback_entry}}
select id, claim from changed order by id

-- name: forget_callbacks
-- Calls that ended long ago go; the history keeps what became of them.
delete from callback b using (
    select c.id from callback c where c.ended_at < bide_now() - $1::interval
    order by c.ended_at limit $2 for update of c skip locked
) old
where b.id = any (array[old.id])
returning b.id
