-- Processes: who is there, who is alive, who is gone.

-- fragment: job_entry
job_entry as (
    insert into history (at, verb, job_id, from_state, to_state, who, why)
    select moment.now, '{{verb}}', c.id, c.from_state, c.state, $1, c.why from changed c cross join moment
)

-- name: register
-- A process begins.
with {{moment}},
changed as (
    insert into job (job_type, hostname, pid, version, capacity, queues, heartbeat_sec, holds_lock,
                     start_date, latest_heartbeat)
    select $2, $3, $4, $5, $6, $7, $8, $9, moment.now, moment.now from moment
    returning id, state, null as from_state, null as why
),
{{job_entry}}
select id from changed

-- name: beat
-- It is alive. No row means that it was buried: it must drop everything and register anew. Leaves no history.
update job set latest_heartbeat = bide_now(), suspected_at = null
where id = $1 and state = 'running'
returning id

-- name: retire
-- It leaves in order.
with {{moment}},
held as materialized (
    select j.id, j.state as from_state from job j where j.id = $2 and j.state = 'running' for update of j
),
changed as (
    update job j set state = 'success', end_date = moment.now, suspected_at = null
    from held h cross join moment where j.id = h.id
    returning j.*, h.from_state, null as why
),
{{job_entry}}
select id from changed

-- name: suspect
-- PostgreSQL has freed the lock of a process that holds one: most likely the process is gone.
with {{moment}},
held as materialized (
    select j.id, j.state as from_state from job j
    where j.state = 'running' and j.holds_lock and j.suspected_at is null
      and not exists (
          select from pg_locks l
          where l.locktype = 'advisory' and l.objsubid = 2 and l.granted
            and l.database = (select oid from pg_database where datname = current_database())
            and l.classid = $2::integer::oid and l.objid::bigint = j.id % 2147483648)
    order by j.id for update of j skip locked
),
changed as (
    update job j set suspected_at = moment.now
    from held h cross join moment where j.id = h.id
    returning j.*, h.from_state, 'its lock was freed' as why
),
{{job_entry}}
select id from changed order by id

-- name: bury
-- It has been silent for 2.1 heartbeats, or for a short grace after its lock was freed: what it held goes to others.
-- The caller has watched from $3 to $4. Whoever has not watched for a whole lease cannot tell the silence of others from
-- an outage, in which nobody can beat; and what happened after $4 it has not seen. Locks tell more, and as long as there
-- was no outage since $5 they tell it at once.
with {{moment}},
held as materialized (
    select j.id, j.state as from_state,
           case when j.suspected_at is not null then 'its lock was freed and it stayed silent'
                else 'its heartbeat is overdue' end as why
    from job j cross join moment
    cross join lateral (
        select 2.1 * j.heartbeat_sec * interval '1 second' as lease, least($4::timestamptz, moment.now) as seen
    ) w
    where j.state = 'running'
      and (w.seen - $3::timestamptz >= w.lease and j.latest_heartbeat < w.seen - w.lease
           or w.seen - $5::timestamptz >= w.lease and j.suspected_at <= w.seen - $2::interval)
    order by j.id for update of j skip locked
),
changed as (
    update job j set state = 'failed', end_date = moment.now, suspected_at = null
    from held h cross join moment where j.id = h.id
    returning j.*, h.from_state, h.why
),
{{job_entry}}
select id, job_type, hostname, why from changed order by id

-- name: hold_lock
-- Held by the connection until it ends; a process that dies loses it at once.
select pg_try_advisory_lock($1::integer, ($2::bigint % 2147483648)::integer) as held

-- name: loads
-- The living triggerers with what each one holds, for fair shares: whoever is silent would take nothing over.
select j.id, j.capacity, j.queues, (select count(*) from trigger w where w.triggerer_id = j.id)::integer as load
from job j
where j.job_type = 'TriggererJob' and {{alive}}
order by j.id

-- name: jobs_at_work
-- The running processes of a kind, what time it is, and since when there is a server that could have lost their locks.
select bide_now() as now, pg_postmaster_start_time() as server_since, array(select id from job where job_type = $1 and state = 'running' order by id) as ids
