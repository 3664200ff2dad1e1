-- How runs and their task instances come to be.

-- fragment: its_tasks
-- The task instances that a run of the version begins with.
unnest(
    $2::text[], $3::integer[], $4::text[], $5::text[], $6::integer[], $7::integer[], $8::text[], $9::integer[],
    $10::interval[], $11::interval[], $12::integer[], $13::integer[], $14::boolean[], $15::text[])
    as t (task_id, map_index, operator, pool, pool_slots, priority_weight, queue, retries, execution_timeout,
          sensor_timeout, max_active_tis_per_dag, max_active_tis_per_dagrun, is_leaf, callbacks)

-- fragment: task_columns
dag_run_id, dag_id, run_id, task_id, map_index, operator, pool, pool_slots, priority_weight, queue, retries,
max_tries, execution_timeout, sensor_timeout, max_active_tis_per_dag, max_active_tis_per_dagrun, is_leaf, callbacks

-- fragment: task_values
t.operator, t.pool, t.pool_slots, t.priority_weight, t.queue, t.retries, t.retries, t.execution_timeout,
t.sensor_timeout, t.max_active_tis_per_dag, t.max_active_tis_per_dagrun, t.is_leaf

-- name: launch
-- Runs of one version of a DAG come to be, each with all its task instances. A run that is there already is left alone.
with {{moment}},
changed as (
    insert into dag_run (
        dag_id, run_id, dag_version_id, run_type, logical_date, data_interval_start, data_interval_end, conf,
        queued_at, dagrun_timeout)
    select $16, r.run_id, $17, $18, r.logical_date, r.interval_start, r.interval_end, r.conf, moment.now, $19
    from unnest($20::text[], $21::timestamptz[], $22::timestamptz[], $23::timestamptz[], $24::json[])
        as r (run_id, logical_date, interval_start, interval_end, conf)
    cross join moment
    on conflict do nothing
    returning id, dag_id, run_id, state, null as from_state, null as why
),
tasks as (
    insert into task_instance ({{task_columns}})
    select c.id, c.dag_id, c.run_id, t.task_id, t.map_index, {{task_values}}, string_to_array(t.callbacks, ',')
    from changed c cross join {{its_tasks}}
),
{{run_entry}}
select id, run_id from changed order by id

-- name: adopt
-- Their DAG has a newer version: they go on with it. Tasks that are new come to be, the others take on what it says of
-- them, and whatever was decided on the old version is refused by the new epoch.
with {{moment}},
held as materialized (
    select g.id, r.from_state
    from (select distinct id from unnest($16::bigint[]) as given (id) order by id) g
    cross join lateral (
        select r.state as from_state, r.dag_version_id from dag_run r where r.id = g.id limit 1 for update
    ) r
    where r.from_state in ('queued', 'running') and r.dag_version_id is distinct from $17
),
changed as (
    update dag_run r set dag_version_id = $17, epoch = r.epoch + 1, dagrun_timeout = $18
    from held h where r.id = any (array[h.id])
    returning r.*, h.from_state, 'version ' || $17::bigint as why
),
known as materialized (
    select i.id, t.task_id
    from (
        select i.id from changed c cross join lateral (
            select t.id from task_instance t where t.dag_run_id = c.id offset 0
        ) i
        order by i.id
    ) i
    cross join lateral (select t.task_id from task_instance t where t.id = i.id limit 1 for update) t
),
kept as (
    update task_instance k set
        operator = t.operator, pool = t.pool, pool_slots = t.pool_slots, priority_weight = t.priority_weight,
        queue = t.queue, max_tries = k.max_tries - k.retries + t.retries, retries = t.retries,
        execution_timeout = t.execution_timeout, sensor_timeout = t.sensor_timeout,
        max_active_tis_per_dag = t.max_active_tis_per_dag, max_active_tis_per_dagrun = t.max_active_tis_per_dagrun,
        is_leaf = t.is_leaf, callbacks = string_to_array(t.callbacks, ',')
    from known join (select distinct on (t.task_id) t.* from {{its_tasks}}) t on t.task_id = known.task_id
    where k.id = any (array[known.id])
),
made as (
    insert into task_instance ({{task_columns}})
    select c.id, c.dag_id, c.run_id, t.task_id, t.map_index, {{task_values}}, string_to_array(t.callbacks, ',')
    from changed c cross join {{its_tasks}}
    where not exists (
        select from task_instance o
        where o.dag_id = c.dag_id and o.run_id = c.run_id and o.task_id = t.task_id offset 0)
),
looked as (insert into look (dag_run_id, at) select c.id, moment.now from changed c cross join moment),
{{run_entry}}
select id, state from changed order by id

-- name: expand
-- It is known over how many elements a task is mapped: there is one instance for each; those that are there stay.
-- `given` has one instance of each task that has not begun.
with {{moment}},
given as (
    select distinct on (id, epoch) * from unnest($2::bigint[], $3::integer[], $4::integer[]) as given (id, epoch, number)
    order by id, epoch
),
{{sure}},
held as materialized (
    select t.*, g.number from given g
    cross join lateral (select t.* from task_instance t where t.id = g.id limit 1 for update) t
    where g.id in (select sure.id from sure) and t.state in ('none', 'restarting') and t.worker_id is null
),
first as (
    update task_instance t set map_index = 0 from held h where t.id = any (array[h.id]) and t.map_index = -1 returning t.id
),
made as (
    insert into task_instance ({{task_columns}})
    select t.dag_run_id, t.dag_id, t.run_id, t.task_id, n, {{task_values}}, t.callbacks
    from held t cross join generate_series(0, t.number - 1) n
    where n <> greatest(t.map_index, 0)
    on conflict do nothing
    returning id
),
noted as (
    insert into history (at, verb, dag_run_id, task_instance_id, who, why)
    select moment.now, '{{verb}}', h.dag_run_id, h.id, $1, h.number || ' instances' from held h cross join moment
)
select id from first union all select id from made order by id
