-- What triggers use while they wait, for people who look for the one that holds up the others.

-- name: report_use
-- The busiest triggers of a triggerer, instead of those that it has told of before and those of triggerers that are gone.
with gone as (
    delete from trigger_use u
    where u.triggerer_id = $1 and u.trigger_id <> all ($2::bigint[])
       or not exists (select from job j where j.id = u.triggerer_id and j.state = 'running')
)
insert into trigger_use as u (
    trigger_id, triggerer_id, runner_pid, steps, busy_sec, longest_sec, strikes, evidence, at)
select g.trigger_id, $1, g.runner_pid, g.steps, g.busy_sec, g.longest_sec, g.strikes, g.evidence, moment.now
from unnest($2::bigint[], $3::integer[], $4::bigint[], $5::double precision[], $6::double precision[], $7::integer[],
            $8::text[])
    as g (trigger_id, runner_pid, steps, busy_sec, longest_sec, strikes, evidence)
cross join (select bide_now() as now) moment
on conflict (triggerer_id, trigger_id) do update set
    runner_pid = excluded.runner_pid, steps = excluded.steps, busy_sec = excluded.busy_sec,
    longest_sec = excluded.longest_sec, strikes = excluded.strikes, evidence = excluded.evidence, at = excluded.at

-- name: busiest_triggers
-- The triggers that use most, those that have done harm first.
select u.trigger_id, w.classpath, t.dag_id, t.run_id, t.task_id, t.map_index, u.triggerer_id, u.runner_pid, u.steps,
       u.busy_sec, u.longest_sec, u.strikes, u.evidence, u.at
from (
    select * from trigger_use u order by u.strikes desc, u.busy_sec desc limit $1
) u
cross join lateral (select w.classpath from trigger w where w.id = u.trigger_id and w.triggerer_id = u.triggerer_id limit 1) w
left join lateral (select t.* from task_instance t where t.waits_for = u.trigger_id limit 1) t on true
order by u.strikes desc, u.busy_sec desc, u.trigger_id
