-- Who holds a wait, and what became of it. The task instances stay where they are.

-- fragment: wait_entry
wait_entry as (
    insert into history (at, verb, trigger_id, job_id, claim, who, why)
    select moment.now, '{{verb}}', c.id, c.holder, c.claim, $1, c.why from changed c cross join moment
)

-- fragment: kill_entry
kill_entry as (
    insert into history (at, verb, trigger_id, task_instance_id, job_id, claim, who, why)
    select moment.now, '{{verb}}', c.trigger_id, c.task_instance_id, c.triggerer_id, c.claim, $1, c.reason
    from changed c cross join moment
)

-- fragment: facts
-- What a trigger may know of the task that waits.
t.id as task_instance_id, t.dag_id, t.run_id, t.task_id, t.map_index, t.try_number, t.leg, r.logical_date,
r.data_interval_start, r.data_interval_end

-- name: claim
-- A triggerer takes waits that nobody holds, of its own queues only; an empty queue means waits without a queue.
-- The most urgent first, then the oldest. A process that was buried gets nothing.
with {{moment}},
free as materialized (
    select w.id from unnest($3::text[]) as served (queue) cross join lateral (
        select t.id, t.priority from trigger t
        where t.triggerer_id is null and t.due_at is null and t.parked_until is null
          and coalesce(t.queue, '') = served.queue
          and exists (select from job j where j.id = $2 and j.state = 'running')
        order by t.priority desc, t.id limit $4 for update of t skip locked
    ) w
    order by w.priority desc, w.id limit $4
),
changed as (
    update trigger w set triggerer_id = $2, claim = w.claim + 1
    from free where w.id = any (array[free.id])
    returning w.*, w.triggerer_id as holder, null as why
),
{{wait_entry}}
select c.id, c.claim, c.classpath, c.kwargs, c.on_kill, c.dag_version_id, c.parked_why, {{facts}}
from changed c left join lateral (
    select t.* from task_instance t where t.waits_for = c.id limit 1
) t on true
left join lateral (select r.* from dag_run r where r.id = t.dag_run_id limit 1) r on true
order by c.priority desc, c.id

-- name: release
-- The triggerer hands some of what it holds over to others.
with {{moment}},
held as materialized (
    select w.id, w.triggerer_id as holder from trigger w
    join unnest($3::bigint[], $4::integer[]) as g (id, claim) on w.id = any (array[g.id]) and w.claim = g.claim
    where w.triggerer_id = $2
    order by w.id for update of w
),
changed as (
    update trigger w set triggerer_id = null, claim = w.claim + 1
    from held h where w.id = any (array[h.id])
    returning w.*, h.holder, $5::text as why
),
{{wait_entry}}
select id, claim from changed order by id

-- name: release_all
-- The triggerer leaves, and lets go of everything that it holds.
with {{moment}},
held as materialized (
    select w.id, w.triggerer_id as holder from trigger w where w.triggerer_id = $2 order by w.id for update of w
),
changed as (
    update trigger w set triggerer_id = null, claim = w.claim + 1
    from held h where w.id = any (array[h.id])
    returning w.*, h.holder, $3::text as why
),
{{wait_entry}}
select id, claim from changed order by id

-- name: orphan
-- The triggerer is gone: its waits are free for others, and what it may still say about them is refused.
with recursive {{moment}},
holder (id) as (
    -- Hops over the index from holder to holder: there are few of them, whatever the number of waits.
    select min(w.triggerer_id) from trigger w where w.triggerer_id is not null
    union all
    select (select min(w.triggerer_id) from trigger w where w.triggerer_id > holder.id) from holder
    where holder.id is not null
),
dead as (select j.id, j.hostname from holder join job j on j.id = holder.id where j.state <> 'running'),
held as materialized (
    select w.id, w.triggerer_id as holder, dead.hostname from dead join trigger w on w.triggerer_id = dead.id
    order by w.id limit $2 for update of w skip locked
),
changed as (
    update trigger w set triggerer_id = null, claim = w.claim + 1
    from held h where w.id = any (array[h.id])
    returning w.*, h.holder, 'triggerer ' || h.holder || ' on ' || h.hostname || ' is gone' as why
),
{{wait_entry}}
select id, claim from changed order by id

-- name: park
-- The wait's code or key is not there. It is put aside for a while; nothing is lost.
with {{moment}},
given as (
    select distinct on (id, claim) *
    from unnest($2::bigint[], $3::integer[], $4::text[], $5::interval[]) as given (id, claim, why, pause)
    order by id, claim
),
held as materialized (
    select g.id, w.holder, g.why, g.pause from given g cross join lateral (
        select w.triggerer_id as holder from trigger w where w.id = g.id and w.claim = g.claim for update of w
    ) w
    where w.holder is not null
),
changed as (
    update trigger w set
        triggerer_id = null, claim = w.claim + 1, parked_until = moment.now + h.pause, parked_why = h.why
    from held h cross join moment where w.id = any (array[h.id])
    returning w.*, h.holder, h.why
),
{{wait_entry}}
select id, claim from changed order by id

-- name: unpark
-- Time to try parked waits again. Why they were parked stays, so that whoever parks them again can wait longer.
with {{moment}},
due as materialized (
    select w.id from trigger w where w.parked_until <= (select now from moment) order by w.parked_until, w.id limit $2
),
held as materialized (
    select d.id from (select * from due order by id) d cross join lateral (
        select w.parked_until from trigger w where w.id = d.id limit 1 for update of w skip locked
    ) w
    where w.parked_until <= (select now from moment)
),
changed as (
    update trigger w set parked_until = null
    from held h where w.id = any (array[h.id])
    returning w.*, null::bigint as holder, w.parked_why as why
),
{{wait_entry}}
select id, claim from changed order by id

-- name: take_kill
-- A triggerer takes up calls of on_kill: those for waits that it held, and those that nobody alive can answer. What it has
-- taken up without knowing, because the answer was lost on its way, it takes up again.
with {{moment}},
open as materialized (
    select k.trigger_id from kill k
    where exists (select from job j where j.id = $2 and j.state = 'running')
      and (k.triggerer_id = $2
               and (not k.taken or k.trigger_id <> all ($5::bigint[]) and k.deadline > (select now from moment))
           or ((k.triggerer_id is null or not exists (
                    select from job j where j.id = k.triggerer_id and j.state = 'running'))
               and coalesce(k.queue, '') = any ($3::text[])))
    order by k.trigger_id limit $4 for update of k skip locked
),
changed as (
    update kill k set triggerer_id = $2, claim = k.claim + 1, taken = true
    from open where k.trigger_id = any (array[open.trigger_id])
    returning k.*
),
{{kill_entry}}
select c.trigger_id, c.claim, c.classpath, c.kwargs, c.dag_version_id, c.reason, c.deadline - moment.now as time_left,
       {{facts}}
from changed c cross join moment
cross join lateral (select t.* from task_instance t where t.id = c.task_instance_id limit 1) t
cross join lateral (select r.* from dag_run r where r.id = t.dag_run_id limit 1) r
order by c.trigger_id

-- name: acknowledge
-- The on_kill of a stopped wait has run; its task may start afresh.
with {{moment}},
held as materialized (
    select k.trigger_id from kill k join unnest($2::bigint[], $3::integer[]) as g (trigger_id, claim)
        on k.trigger_id = any (array[g.trigger_id]) and k.claim = g.claim
    where k.taken
    order by k.trigger_id for update of k
),
changed as (delete from kill k using held h where k.trigger_id = any (array[h.trigger_id]) returning k.*),
{{kill_entry}}
select trigger_id, task_instance_id from changed order by trigger_id

-- name: give_up
-- An on_kill did not run in time: the outside work may still go on, which the history says; the task may start afresh.
with {{moment}},
held as materialized (
    select k.trigger_id from kill k where k.deadline <= (select now from moment)
    order by k.trigger_id limit $2 for update of k skip locked
),
changed as (delete from kill k using held h where k.trigger_id = any (array[h.trigger_id]) returning k.*),
{{kill_entry}}
select trigger_id, task_instance_id from changed order by trigger_id

-- name: sweep
-- Removes waits that nothing waits for. None comes to be by the verbs, only by a person's hand, so there is no hurry:
-- the age keeps away from waits that are just beginning.
with {{moment}},
held as materialized (
    select w.id from trigger w
    where w.id > $2 and w.created_date < (select now from moment) - $3::interval
      and not exists (select from task_instance t where t.waits_for = w.id offset 0)
      and not exists (select from asset_watcher a where a.trigger_id = w.id offset 0)
      and not exists (select from callback b where b.trigger_id = w.id offset 0)
    order by w.id limit $4 for update of w skip locked
),
changed as (
    delete from trigger w using held h where w.id = any (array[h.id])
    returning w.*, w.triggerer_id as holder, 'nothing waits for it' as why
),
{{wait_entry}}
select id, claim from changed order by id

-- name: resealable
-- One bounded batch of sealed arguments, for the rotation of keys.
select id, classpath, kwargs from trigger where id > $1 order by id limit $2

-- name: reseal
-- Stores arguments that were sealed anew, where they are still those that were opened.
update trigger w set kwargs = g.resealed
from unnest($1::bigint[], $2::text[], $3::text[]) as g (id, kwargs, resealed)
where w.id = any (array[g.id]) and w.kwargs = g.kwargs
returning w.id
