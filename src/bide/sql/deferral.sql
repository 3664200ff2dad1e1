-- Waits: how a task comes to wait, who holds the wait, and how it ends. The fence of a wait is its claim.

-- fragment: ended_waits
-- The task instances first, by id, then their waits, by id: a sort is finished before anything above it begins.
-- One by one, because a join would be planned by statistics, which are always late about waits; `offset` keeps it so.
found as (
    select g.*, t.id from given g cross join lateral (
        select t.id from trigger w join task_instance t on t.waits_for = w.id
        where w.id = g.trigger_id and w.claim = g.claim offset 0
    ) t
),
waiting as (
    select f.*, t.state as from_state from (select * from found order by id) f cross join lateral (
        select t.state, t.waits_for from task_instance t where t.id = f.id limit 1 for update
    ) t
    where t.waits_for = f.trigger_id
),
held as materialized (
    select g.* from (select * from waiting order by trigger_id) g cross join lateral (
        select from trigger w where w.id = g.trigger_id and w.claim = g.claim for update of w
    ) w
),
gone as (delete from trigger w where w.id = any (array(select h.trigger_id from held h)))

-- fragment: waits_to_be
-- The triggers of `held` task instances. An equal shared wait that is there already takes the newcomer in, and is as
-- urgent as the most urgent of those who wait. Those that are there are locked by id, as everywhere.
shared as materialized (
    select w.id from trigger w
    where w.id = any (array(
        select s.id from trigger s
        where s.shared_key = any (array(select h.shared_key from held h where h.shared_key is not null))))
    order by w.id for update of w
),
made as (
    insert into trigger (
        id, classpath, kwargs, created_date, queue, priority, due_at, event, ends, shared_key, on_kill, dag_version_id)
    select distinct on (coalesce(h.shared_key, ''), case when h.shared_key is null then h.new_trigger_id end)
        h.new_trigger_id, h.classpath, h.kwargs, moment.now, h.queue, h.priority_weight,
        coalesce(h.due_at, moment.now + h.due_in), h.event, h.ends, h.shared_key, h.on_kill, h.dag_version_id
    from held h cross join moment
    where (select count(*) from shared) >= 0
    order by coalesce(h.shared_key, ''), case when h.shared_key is null then h.new_trigger_id end,
             h.priority_weight desc, h.id
    on conflict (shared_key) where shared_key is not null
        do update set priority = greatest(trigger.priority, excluded.priority)
    returning id, shared_key
)

-- fragment: wait_of
case when h.shared_key is null then h.new_trigger_id
     else (select m.id from made m where m.shared_key = h.shared_key) end

-- name: reserve_trigger_ids
-- Numbers for waits that are about to begin: a wait's arguments are sealed with its number.
select nextval('trigger_id_seq') as id from generate_series(1, $1)

-- name: defer
-- The task has nothing to do but wait. Its wait begins in the same statement; the worker is free.
with {{moment}},
given as (
    select distinct on (id, leg) *
    from unnest($2::bigint[], $3::integer[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::json[],
                $9::interval[], $10::timestamptz[], $11::interval[], $12::json[], $13::boolean[], $14::text[],
                $15::boolean[], $16::text[], $17::bigint[])
        as given (id, leg, new_trigger_id, classpath, kwargs, next_method, next_kwargs,
                  timeout, due_at, due_in, event, ends, shared_key, on_kill, queue, dag_version_id)
    order by id, leg
),
{{running}},
{{waits_to_be}},
changed as (
    update task_instance t set
        state = 'deferred', trigger_id = {{wait_of}}, next_method = h.next_method,
        next_kwargs = h.next_kwargs, worker_id = null, child_leg = null,
        trigger_timeout = least(moment.now + h.timeout, t.try_deadline, t.sensor_deadline)
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, null as why
),
{{entry}}
{{answer}}

-- name: defer_at_start
-- The task begins in its trigger and uses no worker for that. The turn is the proof that there was room.
with {{moment}},
turned as (update turn set number = number + 1 where number = $2 returning number),
given as (
    select distinct on (id, leg) *
    from unnest($3::bigint[], $4::integer[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::json[],
                $10::interval[], $11::timestamptz[], $12::interval[], $13::json[], $14::boolean[], $15::text[],
                $16::boolean[], $17::text[], $18::bigint[])
        as given (id, leg, new_trigger_id, classpath, kwargs, next_method, next_kwargs,
                  timeout, due_at, due_in, event, ends, shared_key, on_kill, queue, dag_version_id)
    order by id, leg
),
held as materialized (
    select g.*, t.state as from_state, t.priority_weight, t.start_date is null as opens, null as why
    from given g {{its_task}}
    where (select count(*) from turned) = 1
      and t.state = 'scheduled' and t.next_method is null
      and {{answered}}
),
{{waits_to_be}},
changed as (
    update task_instance t set
        state = 'deferred', leg = t.leg + 1, trigger_id = {{wait_of}},
        next_method = h.next_method, next_kwargs = h.next_kwargs,
        queued_at = case when h.opens then moment.now else t.queued_at end, {{opening}},
        trigger_timeout = least(
            moment.now + h.timeout,
            case when h.opens then moment.now + t.execution_timeout else t.try_deadline end,
            coalesce(t.sensor_deadline, moment.now + t.sensor_timeout))
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why, h.opens
),
{{forgotten}},
{{entry}}
{{answer}}

-- name: fire
-- The triggers yielded events: every task that waits goes on, the event among its arguments.
with {{moment}},
given as (
    select distinct on (trigger_id, claim) *, null as why
    from unnest($2::bigint[], $3::integer[], $4::json[]) as given (trigger_id, claim, event)
),
{{ended_waits}},
changed as (
    update task_instance t set
        state = 'scheduled', next_kwargs = with_event(t.next_kwargs, h.event), trigger_timeout = null
    from held h
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{entry}}
{{answer}}

-- name: end
-- The triggers yielded how their tasks end. XComs are kept; a failure goes on to `__fail__`, as every failure does.
with {{moment}},
xcoms as (
    select trigger_id, claim, array_agg(key) as xcom_keys, array_agg(value) as xcom_values
    from unnest($7::bigint[], $8::integer[], $9::text[], $10::json[]) as x (trigger_id, claim, key, value)
    group by trigger_id, claim
),
given as (
    select distinct on (trigger_id, claim) *
    from unnest($2::bigint[], $3::integer[], $4::text[], $5::json[], $6::text[])
        as given (trigger_id, claim, to_state, error, why) left join xcoms using (trigger_id, claim)
    where to_state in ('success', 'skipped', 'scheduled')
),
{{ended_waits}},
changed as (
    update task_instance t set
        state = h.to_state, trigger_timeout = null,
        end_date = case when h.to_state <> 'scheduled' then moment.now end,
        next_method = case when h.to_state = 'scheduled' then '__fail__' end,
        next_kwargs = case when h.to_state = 'scheduled' then h.error end
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why, h.xcom_keys, h.xcom_values
),
{{pushed}},
{{announced}}, {{looked}}, {{entry}}
{{answer}}

-- name: crash
-- The triggers raised, or ended without an event: their tasks go on to `__fail__` with the error.
with {{moment}},
given as (
    select distinct on (trigger_id, claim) *
    from unnest($2::bigint[], $3::integer[], $4::json[], $5::text[]) as given (trigger_id, claim, error, why)
),
{{ended_waits}},
changed as (
    update task_instance t set
        state = 'scheduled', next_method = '__fail__', next_kwargs = h.error, trigger_timeout = null
    from held h
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{entry}}
{{answer}}

-- name: fire_due
-- Timers whose date has come: their tasks go on, or have succeeded where the timer is all there was to do.
-- Where a timeout came before that date, `lapse` has the word, however late anybody looks.
with {{moment}},
due as materialized (
    select t.id, w.id as trigger_id, w.event, w.ends from trigger w cross join lateral (
        select t.id from task_instance t
        where t.waits_for = w.id and w.due_at <= coalesce(t.trigger_timeout, w.due_at) offset 0
    ) t
    where w.due_at <= (select now from moment)
    order by w.due_at, w.id limit $2
),
held as materialized (
    select d.id, t.state as from_state, d.trigger_id, d.event, d.ends, null as why
    from {{due_tasks}}
    where t.waits_for = d.trigger_id
),
changed as (
    update task_instance t set
        state = case when h.ends then 'success' else 'scheduled' end,
        end_date = case when h.ends then moment.now end,
        next_method = case when not h.ends then t.next_method end,
        next_kwargs = case when not h.ends then with_event(t.next_kwargs, h.event) end,
        trigger_timeout = null
    from held h cross join moment
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
gone as (delete from trigger w where w.id = any (array(select h.trigger_id from held h))),
{{announced}}, {{looked}}, {{entry}}
{{answer}}

-- name: lapse
-- Waits that took too long, whatever limit they ran into: their tasks go on to `__fail__`. Needs no triggerer.
with {{moment}},
due as materialized (
    select t.id from task_instance t
    where t.state = 'deferred' and t.trigger_timeout <= (select now from moment)
      and not exists (select from trigger w where w.id = t.waits_for and w.due_at <= t.trigger_timeout offset 0)
    order by t.trigger_timeout, t.id limit $3
),
held as materialized (
    select t.id, t.state as from_state, t.waits_for, 'timed_out' as reason,
           case t.trigger_timeout when t.try_deadline then 'execution_timeout'
                                  when t.sensor_deadline then 'sensor_timeout' else 'trigger_timeout' end as why
    from {{due_tasks}}
    where t.state = 'deferred' and t.trigger_timeout <= (select now from moment)
),
changed as (
    update task_instance t set
        state = 'scheduled', next_method = '__fail__', trigger_timeout = null,
        next_kwargs = json_build_object('error', case h.why when 'execution_timeout' then 'Execution timeout'
            when 'sensor_timeout' then 'Sensor timeout' else 'Trigger timeout' end, 'reason', h.why)
    from held h
    where t.id = any (array[h.id])
    returning t.*, h.from_state, h.why
),
{{let_go}}, {{entry}}
{{answer}}
