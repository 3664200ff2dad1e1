-- Task instances -------------------------------------------------------------------------------------------

create table task_instance (
    id bigint generated always as identity primary key,
    dag_run_id bigint not null,
    dag_id text not null,
    run_id text not null,
    task_id text not null check (task_id <> ''),
    map_index integer not null default -1 check (map_index >= -1),
    state text not null default 'none' check (state in (
        'none', 'scheduled', 'queued', 'running', 'deferred', 'up_for_retry', 'up_for_reschedule', 'restarting',
        'shutdown', 'success', 'failed', 'skipped', 'upstream_failed', 'removed')),
    -- Grows each time the task is handed to somebody or taken away from somebody.
    leg integer not null default 0 check (leg >= 0),
    try_number integer not null default 0 check (try_number >= 0),
    max_tries integer not null default 0 check (max_tries >= 0),
    retries integer not null default 0 check (retries >= 0),
    -- The worker whose child may still run it, and the leg of that child. Both stay when the task is taken away,
    -- until the worker has said "stopped".
    worker_id bigint,
    child_leg integer,
    -- The latest wait. It is going on exactly while the state is deferred; `waits_for` says so to the database.
    trigger_id bigint,
    waits_for bigint generated always as (case when state = 'deferred' then trigger_id end) stored
        references trigger (id),
    next_method text check (length(next_method) <= 1000),
    next_kwargs json,
    -- When the wait ends by itself: its own timeout, the end of the try or that of the sensor, whichever is first.
    trigger_timeout timestamptz,
    execution_timeout interval check (execution_timeout > interval '0'),
    try_deadline timestamptz,
    sensor_timeout interval check (sensor_timeout > interval '0'),
    sensor_deadline timestamptz,
    wake_at timestamptz,
    operator text not null default '',
    pool text not null default 'default_pool',
    pool_slots integer not null default 1 check (pool_slots > 0),
    priority_weight integer not null default 1,
    queue text not null default 'default' check (queue <> ''),
    max_active_tis_per_dag integer check (max_active_tis_per_dag > 0),
    max_active_tis_per_dagrun integer check (max_active_tis_per_dagrun > 0),
    is_leaf boolean not null default false,
    -- Which ends somebody wants to be called for: success, failure, retry, skipped.
    callbacks text[] not null default '{}',
    queued_at timestamptz,
    start_date timestamptz,
    end_date timestamptz,
    unique (dag_id, run_id, task_id, map_index),
    foreign key (dag_run_id, dag_id, run_id) references dag_run (id, dag_id, run_id),
    check (state <> 'deferred' or trigger_id is not null),
    check (state not in ('running', 'shutdown') or worker_id is not null),
    check ((worker_id is null) = (child_leg is null)),
    check (child_leg <= leg),
    check (worker_id is null or state in (
        'running', 'restarting', 'shutdown', 'success', 'failed', 'skipped', 'upstream_failed', 'removed')),
    check ((state in ('up_for_retry', 'up_for_reschedule')) = (wake_at is not null)),
    check ((state in ('success', 'failed', 'skipped', 'upstream_failed', 'removed')) = (end_date is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index task_instance_run on task_instance (dag_run_id, state);
create index task_instance_waits on task_instance (waits_for) where waits_for is not null;
create index task_instance_timeout on task_instance (trigger_timeout, id)
    where state = 'deferred' and trigger_timeout is not null;
create index task_instance_scheduled
    on task_instance (pool, (next_method is null), priority_weight desc, id)
    where state = 'scheduled' and next_method is distinct from '__fail__';
create index task_instance_failing on task_instance (id) where state = 'scheduled' and next_method = '__fail__';
create index task_instance_wake on task_instance (wake_at, id) where wake_at is not null;
create index task_instance_queued
    on task_instance (queue, (next_method is null), priority_weight desc, id) where state = 'queued';
create index task_instance_busy on task_instance (pool, dag_run_id, dag_id, task_id)
    where state = 'queued' or worker_id is not null;
create index task_instance_held on task_instance (worker_id) where worker_id is not null;

-- A stopped wait whose on_kill is still to run. The task starts no new leg before it is gone.
create table kill (
    trigger_id bigint primary key,
    task_instance_id bigint not null references task_instance on delete cascade,
    classpath text not null,
    kwargs text not null,
    queue text,
    dag_version_id bigint,
    -- Who held the wait; once taken, who runs its on_kill.
    triggerer_id bigint,
    claim integer not null,
    taken boolean not null default false,
    reason text not null check (reason in ('cleared', 'marked', 'timed_out', 'run_timed_out', 'run_failed', 'removed')),
    asked_at timestamptz not null,
    deadline timestamptz not null
);
create index kill_task on kill (task_instance_id);
create index kill_deadline on kill (deadline);

-- Removes those of these waits that nobody waits for any more. Volatile, and in two statements, so that it looks anew
-- after each lock: whoever waited for a task that has just been deferred must see its wait, and of two who take the last
-- two tasks out of a shared wait the second must see that the first has gone.
create function leave(waits bigint[])
returns table (
    id bigint, classpath text, kwargs text, queue text, dag_version_id bigint, triggerer_id bigint, claim integer,
    on_kill boolean)
language sql volatile as $$
    select from trigger w where w.id = any (waits) order by w.id for update;
    delete from trigger w
    where w.id = any (waits) and not exists (select from task_instance t where t.waits_for = w.id offset 0)
    returning w.id, w.classpath, w.kwargs, w.queue, w.dag_version_id, w.triggerer_id, w.claim, w.on_kill
$$;

create table xcom (
    dag_id text not null,
    run_id text not null,
    task_id text not null,
    map_index integer not null default -1,
    key text not null,
    value json not null,
    timestamp timestamptz not null,
    primary key (dag_id, run_id, task_id, map_index, key),
    foreign key (dag_id, run_id, task_id, map_index)
        references task_instance (dag_id, run_id, task_id, map_index) on delete cascade
);

-- Something that somebody wants to be called for: the end of a try, or that of a run; then the task instance is one that
-- decided it. A worker calls the code in a child. What becomes of it changes nothing about tasks and runs.
create table callback (
    id bigint generated always as identity primary key,
    task_instance_id bigint references task_instance on delete cascade,
    -- Set where it is about the end of the run.
    dag_run_id bigint references dag_run on delete cascade,
    callback_type text not null check (callback_type in ('success', 'failure', 'retry', 'skipped', 'deadline')),
    state text not null default 'pending' check (state in ('pending', 'queued', 'running', 'success', 'failed')),
    try_number integer,
    reason text,
    queue text not null default 'default' check (queue <> ''),
    trigger_id bigint references trigger (id),
    created_at timestamptz not null,
    -- The worker that has it or had it, and until when it is waited for. The claim grows each time it changes hands.
    worker_id bigint,
    claim integer not null default 0,
    deadline timestamptz,
    ended_at timestamptz,
    error text,
    check ((state = 'running') = (deadline is not null)),
    check (state <> 'running' or worker_id is not null),
    check ((state in ('success', 'failed')) = (ended_at is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index callback_pending on callback (queue, id) where state = 'pending' and trigger_id is null;
create index callback_running on callback (deadline) where state = 'running';
create index callback_ended on callback (ended_at) where ended_at is not null;
create index callback_run on callback (dag_run_id) where dag_run_id is not null;
create index callback_task on callback (task_instance_id);
create index callback_trigger on callback (trigger_id) where trigger_id is not null;
