-- How long tasks have waited without a worker. The history tells: a wait begins when a task comes to be deferred, and ends
-- when it leaves that. Bounded batches, each along one index; the caller adds them up.

-- name: waits_ended
-- Waits that ended after a moment, by DAG, with how much of them lies in a period; and where the next batch begins.
with ended as materialized (
    select h.id, h.at, h.task_instance_id, h.dag_run_id from history h
    where h.from_state = 'deferred' and h.to_state <> 'deferred'
      and (h.at, h.id) > ($3::timestamptz, $4::bigint)
    order by h.at, h.id limit $5
),
spans as (
    select e.dag_run_id, least(e.at, $2::timestamptz) - greatest(began.at, $1::timestamptz) as waited
    from ended e cross join lateral (
        select b.at from history b
        where b.task_instance_id = e.task_instance_id and b.id < e.id
          and b.to_state = 'deferred' and b.from_state <> 'deferred'
        order by b.id desc limit 1
    ) began
    where e.at >= $1 and began.at < $2
),
by_dag as (
    select r.dag_id, count(*)::integer as waits, sum(s.waited) as waited
    from spans s cross join lateral (select r.dag_id from dag_run r where r.id = s.dag_run_id limit 1) r
    group by r.dag_id
)
select d.dag_id, d.waits, d.waited, l.at as last_at, l.id as last_id
from (select (array_agg(e.at order by e.at desc, e.id desc))[1] as at,
             (array_agg(e.id order by e.at desc, e.id desc))[1] as id from ended e) l
left join by_dag d on true
where l.id is not null

-- name: waits_going_on
-- Waits that still go on, in the same way.
with live as materialized (select w.id from trigger w where w.id > $3 order by w.id limit $4),
spans as (
    select t.dag_id, least(bide_now(), $2::timestamptz) - greatest(began.at, $1::timestamptz) as waited
    from live l
    cross join lateral (select t.id, t.dag_id from task_instance t where t.waits_for = l.id offset 0) t
    cross join lateral (
        select b.at from history b
        where b.task_instance_id = t.id and b.to_state = 'deferred' and b.from_state <> 'deferred'
        order by b.id desc limit 1
    ) began
    where began.at < least(bide_now(), $2)
),
by_dag as (select s.dag_id, count(*)::integer as waits, sum(s.waited) as waited from spans s group by s.dag_id)
select d.dag_id, d.waits, d.waited, null::timestamptz as last_at, l.id as last_id
from (select max(live.id) as id from live) l left join by_dag d on true
where l.id is not null
