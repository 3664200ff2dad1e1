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
    callback_id bigint,
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
-- The ends of waits, in their order: for what waiting without a worker has saved.
create index history_waited on history (at, id) where from_state = 'deferred' and to_state <> 'deferred';
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
