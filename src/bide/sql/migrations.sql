-- What a migrator needs beside the migrations themselves. All of it happens in transactions, so that it works behind a
-- transaction pooler and ends with its connection.

-- name: survey
-- What stands in the database: nothing, something of Bide, or something of somebody else.
select current_database() as name, to_regclass('migration') is not null as ours,
       exists (select from pg_class c where c.relnamespace = current_schema()::regnamespace
               and c.relkind in ('r', 'p', 'f', 'v', 'm') and not exists (
                   select from pg_depend d where d.objid = c.oid and d.deptype = 'e')) as occupied

-- name: applied
-- The migrations that led here.
select number, name, checksum from migration order by number

-- name: limit_waiting
-- A migration may take its time. It waits for a table only so long, since everybody else queues up behind it; and if its
-- migrator is frozen, PostgreSQL takes the lock away.
select set_config('statement_timeout', '0', true), set_config('lock_timeout', $1, true),
       set_config('idle_in_transaction_session_timeout', '60s', true)

-- name: lock_migrations
-- One migrator at a time; the lock ends with its transaction.
select pg_advisory_xact_lock(hashtext('bide migrations'))

-- name: record
-- The migration is done; the record is part of its transaction.
insert into migration (number, name, checksum, applied_at) values ($1, $2, $3, now())

-- name: count_runs
-- What a reset would lose.
select count(*)::integer as number from dag_run

-- name: at_work
-- Processes that are alive, whom a reset would pull the floor from under.
select job_type || ' ' || id || ' on ' || hostname as process from job
where state = 'running' and latest_heartbeat >= bide_now() - 2.1 * heartbeat_sec * interval '1 second'
order by id

-- name: demolish
-- Drops every table and function of the schema, but for those of extensions. The schema itself and its grants stay.
do $$
begin
    execute coalesce((
        select string_agg(format('drop %s if exists %s cascade', thing.kind, thing.name), '; ' order by thing.kind desc)
        from (
            select case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table'
                                  when 'S' then 'sequence' else 'table' end as kind,
                   c.oid, c.oid::regclass::text as name
            from pg_class c
            where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'f', 'v', 'm', 'S')
            union all
            select 'routine', p.oid, p.oid::regprocedure::text from pg_proc p
            where p.pronamespace = current_schema()::regnamespace
        ) thing
        where not exists (select from pg_depend d where d.objid = thing.oid and d.deptype = 'e')
    ), '');
end
$$
