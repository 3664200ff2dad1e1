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
    -- Which ends of its runs somebody wants to be called for: success, failure.
    callbacks text[] not null default '{}',
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
