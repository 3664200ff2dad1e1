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
