-- What legs leave behind beside their outcomes: what they wrote, and what they used.

-- name: append_log
-- Pieces of logs, in their order.
insert into log_chunk (task_instance_id, try_number, leg, text, at)
select c.task_instance_id, c.try_number, c.leg, c.text, moment.now
from unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[])
    with ordinality as c (task_instance_id, try_number, leg, text, place)
cross join (select bide_now() as now) moment
order by c.place

-- name: read_log
-- The log of a try after a number: from its beginning on after 0, what is new after the last number that was read.
select number, leg, at, text from log_chunk
where task_instance_id = $1 and try_number = $2 and number > $3
order by number limit $4

-- name: log_sizes
-- How many bytes the logs of some tries have.
select given.id, (
    select coalesce(sum(octet_length(c.text)), 0)::bigint from log_chunk c
    where c.task_instance_id = given.id and c.try_number = given.try_number) as size
from unnest($1::bigint[], $2::integer[]) as given (id, try_number)

-- name: record_legs
-- How the processes of legs ended and what they used. The first word about a leg stays.
insert into leg_record (
    task_instance_id, leg, try_number, worker_id, pid, started_at, ended_at, exit, peak_memory_kb, cpu_sec)
select r.task_instance_id, r.leg, r.try_number, $1, r.pid, r.started_at, moment.now, r.exit, r.peak_memory_kb, r.cpu_sec
from unnest($2::bigint[], $3::integer[], $4::integer[], $5::integer[], $6::timestamptz[], $7::text[], $8::bigint[],
            $9::double precision[])
    as r (task_instance_id, leg, try_number, pid, started_at, exit, peak_memory_kb, cpu_sec)
cross join (select bide_now() as now) moment
on conflict do nothing

-- name: leg_records
-- How the legs of a task instance ended.
select leg, try_number, worker_id, pid, started_at, ended_at, exit, peak_memory_kb, cpu_sec from leg_record
where task_instance_id = $1 order by leg
