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
    -- The version in whose code it runs, where its class stands in the folder of DAG files.
    dag_version_id bigint references dag_version,
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
create index trigger_due on trigger (due_at, id) where due_at is not null;
create index trigger_parked on trigger (parked_until, id) where parked_until is not null;
create unique index trigger_shared on trigger (shared_key) where shared_key is not null;

-- What the busiest triggers have used, as their triggerers tell from time to time. Few rows, and nothing depends on
-- them: no foreign keys, for waits come and go by thousands.
create table trigger_use (
    triggerer_id bigint not null,
    trigger_id bigint not null,
    runner_pid integer not null,
    steps bigint not null,
    busy_sec double precision not null,
    longest_sec double precision not null,
    strikes integer not null,
    evidence text not null,
    at timestamptz not null,
    primary key (triggerer_id, trigger_id)
) with (fillfactor = 50);
