-- The whole database as it is today. The files in migrations/ lead here; a test proves it.
-- Names that operators of such systems know are kept, so that the SQL they know runs here.

-- The migrations that led here. Written by `bide db migrate`, and by nobody else.
create table migration (
    number integer primary key check (number > 0),
    name text not null,
    checksum text not null,
    applied_at timestamptz not null
);

-- The clock ------------------------------------------------------------------------------------------------

-- One row. Tests move or freeze it; nobody else touches it.
create table clock (
    only_row boolean primary key default true check (only_row),
    frozen_at timestamptz,
    shift interval not null default interval '0'
);
insert into clock default values;

-- The only clock that leases, timeouts and due dates know.
create function bide_now() returns timestamptz language sql stable parallel safe
    as 'select coalesce(frozen_at, now()) + shift from clock';

-- Adds the event to the arguments that a wait was begun with. Text, not jsonb: a payload comes back as it was sent.
create function with_event(kwargs json, event json) returns json language sql immutable parallel safe as $$
    select (case when kwargs is null or kwargs::text ~ '^\s*\{\s*\}\s*$' then '{'
                 else left(rtrim(kwargs::text, E' \n\r\t'), -1) || ',' end
            || '"event":' || coalesce(event::text, 'null') || '}')::json
$$;

-- How many elements a list, a dict, a tuple or a set has that the codec has written; null for anything else.
create function element_count(value json) returns integer language sql immutable parallel safe as $$
    select case json_typeof(value)
        when 'array' then json_array_length(value)
        when 'object' then case
            when not value::jsonb ? '$' then (select count(*)::integer from json_object_keys(value))
            when value ->> '$' in ('tuple', 'set', 'frozenset', 'dict') and json_typeof(value -> 'v') = 'array'
                then json_array_length(value -> 'v') end
    end
$$;

-- Processes ------------------------------------------------------------------------------------------------

create table job (
    id bigint generated always as identity primary key,
    job_type text not null
        check (job_type in ('SchedulerJob', 'TriggererJob', 'WorkerJob', 'DagProcessorJob', 'WebJob')),
    state text not null default 'running' check (state in ('running', 'success', 'failed')),
    hostname text not null,
    pid integer,
    version text,
    capacity integer,
    queues text[] not null default '{}',
    start_date timestamptz not null,
    latest_heartbeat timestamptz not null,
    end_date timestamptz,
    heartbeat_sec double precision not null check (heartbeat_sec > 0),
    -- True where the process also holds a session lock under its id, whose loss tells of its death at once.
    holds_lock boolean not null default false,
    suspected_at timestamptz,
    check ((state = 'running') = (end_date is null)),
    check (suspected_at is null or state = 'running')
);
create index job_running on job (job_type) where state = 'running';

-- DAGs and runs --------------------------------------------------------------------------------------------

create table dag (
    dag_id text primary key check (dag_id <> ''),
    is_paused boolean not null default false,
    max_active_tasks integer not null default 16 check (max_active_tasks > 0),
    max_active_runs integer not null default 16 check (max_active_runs > 0),
    -- Its file, as `dag_file` has it, and since when it has been in none.
    fileloc text,
    gone_at timestamptz,
    -- Its latest version, and what tells that one from the next: whoever holds the row compares with this.
    version_id bigint,
    content_hash text,
    description text,
    owners text not null default '',
    tags text[] not null default '{}',
    timetable_summary text not null default '',
    timetable_description text not null default '',
    has_schedule boolean not null default false,
    -- What the dates below were told from; the scheduler moves them on while this stays as it is. A date that has had its
    -- run already may come again when a schedule has changed: then nothing is launched.
    timetable text,
    next_logical_date timestamptz,
    next_interval_start timestamptz,
    next_interval_end timestamptz,
    next_run_at timestamptz,
    check (num_nulls(next_logical_date, next_interval_start, next_interval_end, next_run_at) in (0, 4))
);
create index dag_due on dag (next_run_at) where next_run_at is not null and not is_paused and gone_at is null;
create index dag_in_file on dag (fileloc) where gone_at is null;

create table dag_version (
    id bigint generated always as identity primary key,
    dag_id text not null references dag,
    number integer not null check (number > 0),
    plan json not null,
    source text,
    -- The file, below the folder of DAG files or by its whole path, and what tells this state of it from others: legs of
    -- equal ones share a warm process.
    fileloc text not null default '',
    fingerprint text not null default '',
    created_at timestamptz not null,
    unique (dag_id, number)
);
alter table dag add foreign key (version_id) references dag_version;

-- The files in which DAGs were looked for, below the folder of DAG files, and what was found at the last look.
create table dag_file (
    fileloc text primary key,
    content_hash text not null,
    size bigint not null,
    mtime timestamptz not null,
    parsed_at timestamptz not null,
    seconds double precision not null,
    dag_ids text[] not null
);

-- Files that cannot be used as they are. What was good in them before stays in force.
create table import_error (
    fileloc text primary key,
    error text not null,
    traceback text not null,
    at timestamptz not null
);

create table dag_run (
    id bigint generated always as identity primary key,
    dag_id text not null references dag,
    run_id text not null check (run_id <> ''),
    dag_version_id bigint references dag_version,
    run_type text not null default 'manual' check (run_type in ('manual', 'scheduled', 'backfill', 'asset')),
    state text not null default 'queued' check (state in ('queued', 'running', 'success', 'failed')),
    -- Grows when a person rewrites the past of the run, so that a decision made on the old picture is refused.
    epoch integer not null default 0,
    logical_date timestamptz,
    data_interval_start timestamptz,
    data_interval_end timestamptz,
    conf json,
    queued_at timestamptz not null,
    start_date timestamptz,
    end_date timestamptz,
    dagrun_timeout interval check (dagrun_timeout > interval '0'),
    timeout_at timestamptz,
    note text,
    unique (dag_id, run_id),
    unique (id, dag_id, run_id),
    check ((state in ('success', 'failed')) = (end_date is not null)),
    check (state <> 'running' or start_date is not null)
);
create index dag_run_date on dag_run (dag_id, logical_date);
create index dag_run_queued on dag_run (dag_id, id) where state = 'queued';
create index dag_run_running on dag_run (dag_id, id) where state = 'running';
create index dag_run_timeout on dag_run (timeout_at) where state = 'running' and timeout_at is not null;

-- Room for tasks -------------------------------------------------------------------------------------------

create table pool (
    name text primary key check (name <> ''),
    slots integer not null check (slots >= 0),
    include_deferred boolean not null default false,
    description text not null default ''
);
insert into pool (name, slots) values ('default_pool', 128);

-- One row: who hands out room counts first, and is refused if somebody else has handed out room since.
create table turn (
    only_row boolean primary key default true check (only_row),
    number bigint not null default 0
) with (fillfactor = 50);
insert into turn default values;

-- What has changed in runs and is still to be looked at by a scheduler: one task, or the whole run. A row goes when
-- its consequences are committed, so a scheduler that dies leaves nothing unlooked at.
create table look (
    id bigint generated always as identity primary key,
    dag_run_id bigint not null,
    task_id text,
    at timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0.02);

-- Waits ----------------------------------------------------------------------------------------------------

create sequence trigger_id_seq;

create table trigger (
    id bigint primary key default nextval('trigger_id_seq'),
    classpath text not null check (length(classpath) between 1 and 1000),
    kwargs text not null,
    created_date timestamptz not null,
    triggerer_id bigint,
    -- Grows each time the row changes hands: a word about the wait that carries an older claim is refused.
    claim integer not null default 0,
    queue text check (queue <> ''),
    priority integer not null default 0,
    -- A timer: fired by the schedulers when its date has come, never loaded by a triggerer.
    due_at timestamptz,
    event json,
    ends boolean not null default false,
    -- Equal keys are one wait for many tasks.
    shared_key text,
    -- True where the class has an on_kill, which must run when the wait is stopped.
    on_kill boolean not null default false,
    parked_until timestamptz,
    parked_why text,
    check (due_at is null or (triggerer_id is null and shared_key is null and parked_until is null)),
    check (due_at is not null or (event is null and not ends)),
    check (parked_until is null or (triggerer_id is null and parked_why is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
alter sequence trigger_id_seq owned by trigger.id;
create index trigger_free on trigger (coalesce(queue, ''), priority desc, id)
    where triggerer_id is null and due_at is null and parked_until is null;
create index trigger_held on trigger (triggerer_id, id) where triggerer_id is not null;
create index trigger_due on trigger (due_at) where due_at is not null;
create index trigger_parked on trigger (parked_until) where parked_until is not null;
create unique index trigger_shared on trigger (shared_key) where shared_key is not null;

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
create index task_instance_timeout on task_instance (trigger_timeout)
    where state = 'deferred' and trigger_timeout is not null;
create index task_instance_scheduled
    on task_instance (pool, (next_method is null), priority_weight desc, id)
    where state = 'scheduled' and next_method is distinct from '__fail__';
create index task_instance_failing on task_instance (id) where state = 'scheduled' and next_method = '__fail__';
create index task_instance_wake on task_instance (wake_at) where wake_at is not null;
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
returns table (id bigint, classpath text, kwargs text, queue text, triggerer_id bigint, claim integer, on_kill boolean)
language sql volatile as $$
    select from trigger w where w.id = any (waits) order by w.id for update;
    delete from trigger w
    where w.id = any (waits) and not exists (select from task_instance t where t.waits_for = w.id offset 0)
    returning w.id, w.classpath, w.kwargs, w.queue, w.triggerer_id, w.claim, w.on_kill
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

-- Something that somebody wants to be called for.
create table callback (
    id bigint generated always as identity primary key,
    task_instance_id bigint references task_instance on delete cascade,
    callback_type text not null check (callback_type in ('success', 'failure', 'retry', 'skipped', 'deadline')),
    state text not null default 'pending' check (state in ('pending', 'queued', 'running', 'success', 'failed')),
    try_number integer,
    trigger_id bigint references trigger (id),
    created_at timestamptz not null
);
create index callback_pending on callback (id) where state = 'pending';
create index callback_task on callback (task_instance_id);
create index callback_trigger on callback (trigger_id) where trigger_id is not null;

-- Assets ---------------------------------------------------------------------------------------------------

create table asset (
    id bigint generated always as identity primary key,
    name text not null unique,
    uri text not null
);

create table asset_watcher (
    id bigint generated always as identity primary key,
    asset_id bigint not null references asset,
    name text not null,
    trigger_id bigint references trigger (id),
    unique (asset_id, name)
);
create index asset_watcher_trigger on asset_watcher (trigger_id) where trigger_id is not null;

create table asset_event (
    id bigint generated always as identity primary key,
    asset_id bigint not null references asset,
    source_task_instance_id bigint references task_instance on delete set null,
    extra json,
    timestamp timestamptz not null
);
create index asset_event_asset on asset_event (asset_id, id);

-- What people configure ------------------------------------------------------------------------------------

-- Values are sealed; the text is worth nothing without a key.
create table connection (
    conn_id text primary key check (conn_id <> ''),
    conn_type text not null,
    description text not null default '',
    sealed text not null
);

create table variable (
    key text primary key check (key <> ''),
    description text not null default '',
    sealed text not null
);

-- History --------------------------------------------------------------------------------------------------

-- Every verb leaves one entry for each row that it changed. Entries are never changed.
create table history (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    verb text not null,
    task_instance_id bigint,
    dag_run_id bigint,
    trigger_id bigint,
    job_id bigint,
    from_state text,
    to_state text,
    leg integer,
    try_number integer,
    claim integer,
    who text not null,
    why text,
    check (num_nonnulls(task_instance_id, dag_run_id, trigger_id, job_id) >= 1)
);
create index history_task on history (task_instance_id, id) where task_instance_id is not null;
create index history_run on history (dag_run_id, id) where dag_run_id is not null;

-- What legs leave behind. No foreign keys: their locks would stand in the way of the verbs.

-- How the process of a leg ended and what it used, as its worker tells. `exit` is null where the code came to its end.
create table leg_record (
    task_instance_id bigint not null,
    leg integer not null,
    try_number integer not null,
    worker_id bigint not null,
    pid integer,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    exit text,
    peak_memory_kb bigint,
    cpu_sec double precision,
    primary key (task_instance_id, leg)
);

-- The log of a try, in the order of `number`. A leg that says nothing leaves no row.
create table log_chunk (
    task_instance_id bigint not null,
    try_number integer not null,
    number bigint generated always as identity,
    leg integer not null,
    at timestamptz not null,
    text text not null,
    primary key (task_instance_id, try_number, number)
);
