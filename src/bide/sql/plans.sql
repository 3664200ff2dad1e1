-- DAG files and what was found in them. Several processors may say the same at once, or one of them something of
-- yesterday. Files are locked before DAGs, each by their names.

-- name: store_files
-- Files have been looked at: their DAGs get a version if they have changed, and those that left their file are gone. A
-- broken file keeps what it had. A DAG that is in another file already is refused. `known_hash` is the fence: where the
-- file is no longer as the caller knew it, somebody else has stored it since, and may have seen a newer one. Such files
-- are stale, and a DAG that does not come back at all has just been made by somebody else: look again.
with {{moment}},
told as materialized (
    select * from unnest(
        $1::text[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::float8[], $7::text[], $8::text[])
        as told (fileloc, known_hash, content_hash, size, mtime, seconds, error, traceback)
),
held_file as materialized (
    select f.fileloc, f.content_hash from dag_file f where f.fileloc = any (array(select t.fileloc from told t))
    order by f.fileloc for update of f
),
stale as (
    select t.fileloc from told t join held_file h on h.fileloc = t.fileloc
    where h.content_hash is distinct from t.known_hash and h.content_hash <> t.content_hash
),
found as materialized (
    select t.* from told t where not exists (select from stale s where s.fileloc = t.fileloc)
),
given as materialized (
    select given.* from unnest(
        $9::text[], $10::text[], $11::text[], $12::json[], $13::text[], $14::text[], $15::boolean[], $16::integer[],
        $17::integer[], $18::text[], $19::text[], $20::json[], $21::text[], $22::text[], $23::boolean[], $24::text[],
        $25::timestamptz[], $26::timestamptz[], $27::timestamptz[], $28::timestamptz[], $29::text[])
        as given (fileloc, dag_id, content_hash, plan, source, fingerprint, is_paused, max_active_tasks,
                  max_active_runs, description, owners, tags, timetable_summary, timetable_description, has_schedule,
                  timetable, next_logical_date, next_interval_start, next_interval_end, next_run_at,
                  callbacks)
    join found f on f.fileloc = given.fileloc
),
held as materialized (
    select d.dag_id, d.fileloc, d.gone_at, d.content_hash from dag d
    where d.dag_id = any (array(select g.dag_id from given g))
       or d.gone_at is null and d.fileloc = any (array(select f.fileloc from found f where f.error is null))
    order by d.dag_id for update of d
),
left_behind as (
    select h.dag_id from held h join found f on f.fileloc = h.fileloc
    where h.gone_at is null and f.error is null
      and not exists (select from given g where g.dag_id = h.dag_id and g.fileloc = h.fileloc)
),
refused as (
    select g.dag_id, g.fileloc, h.fileloc as holder from given g join held h on h.dag_id = g.dag_id
    where h.gone_at is null and h.fileloc <> g.fileloc
      and not exists (select from left_behind l where l.dag_id = g.dag_id)
),
accepted as materialized (
    select g.*, h.dag_id is null as is_new, h.content_hash is distinct from g.content_hash as is_changed,
           h.gone_at is not null or h.fileloc is distinct from g.fileloc as has_moved
    from given g left join held h on h.dag_id = g.dag_id
    where not exists (select from refused r where r.dag_id = g.dag_id)
),
version as (
    insert into dag_version (dag_id, number, plan, source, fileloc, fingerprint, callbacks, created_at)
    select a.dag_id, coalesce((select max(v.number) from dag_version v where v.dag_id = a.dag_id), 0) + 1,
           a.plan, a.source, a.fileloc, a.fingerprint, string_to_array(a.callbacks, ','), moment.now
    from accepted a cross join moment where a.is_changed order by a.dag_id
    on conflict do nothing
    returning id, dag_id
),
born as (
    insert into dag (
        dag_id, is_paused, max_active_tasks, max_active_runs, fileloc, version_id, content_hash, description, owners,
        tags, timetable_summary, timetable_description, has_schedule, timetable, next_logical_date,
        next_interval_start, next_interval_end, next_run_at)
    select a.dag_id, a.is_paused, a.max_active_tasks, a.max_active_runs, a.fileloc, v.id, a.content_hash,
           a.description, a.owners, array(select json_array_elements_text(a.tags)), a.timetable_summary,
           a.timetable_description, a.has_schedule, a.timetable, a.next_logical_date, a.next_interval_start,
           a.next_interval_end, a.next_run_at
    from accepted a join version v on v.dag_id = a.dag_id where a.is_new order by a.dag_id
    on conflict do nothing
    returning dag_id
),
changed as (
    update dag d set
        max_active_tasks = a.max_active_tasks, max_active_runs = a.max_active_runs, fileloc = a.fileloc, gone_at = null,
        version_id = coalesce(v.id, d.version_id), content_hash = a.content_hash, description = a.description,
        owners = a.owners, tags = array(select json_array_elements_text(a.tags)),
        timetable_summary = a.timetable_summary, timetable_description = a.timetable_description,
        has_schedule = a.has_schedule, timetable = a.timetable,
        next_logical_date = case when d.timetable = a.timetable then d.next_logical_date else a.next_logical_date end,
        next_interval_start =
            case when d.timetable = a.timetable then d.next_interval_start else a.next_interval_start end,
        next_interval_end = case when d.timetable = a.timetable then d.next_interval_end else a.next_interval_end end,
        next_run_at = case when d.timetable = a.timetable then d.next_run_at else a.next_run_at end
    from accepted a left join version v on v.dag_id = a.dag_id
    where d.dag_id = a.dag_id and (a.is_changed or a.has_moved) and (v.id is not null or not a.is_changed)
    returning d.dag_id
),
gone as (
    update dag d set gone_at = moment.now from left_behind l cross join moment
    where d.dag_id = l.dag_id and not exists (select from given g where g.dag_id = l.dag_id)
    returning d.dag_id
),
wrong as (
    select f.fileloc, f.traceback, concat_ws(E'\n', f.error, (
        select string_agg(format('The DAG %L is in %s already: give the one in %s another dag_id.',
                                 r.dag_id, r.holder, f.fileloc), E'\n' order by r.dag_id)
        from refused r where r.fileloc = f.fileloc)) as error
    from found f
),
noted as (
    insert into import_error as e (fileloc, error, traceback, at)
    select w.fileloc, w.error, w.traceback, moment.now from wrong w cross join moment
    where w.error <> '' order by w.fileloc
    on conflict (fileloc) do update set error = excluded.error, traceback = excluded.traceback,
        at = case when e.error = excluded.error then e.at else excluded.at end
),
mended as (
    delete from import_error e using wrong w where e.fileloc = w.fileloc and w.error = ''
),
looked_at as (
    insert into dag_file (fileloc, content_hash, size, mtime, parsed_at, seconds, dag_ids)
    select f.fileloc, f.content_hash, f.size, f.mtime, moment.now, f.seconds,
           array(select g.dag_id from given g where g.fileloc = f.fileloc order by g.dag_id)
    from found f cross join moment order by f.fileloc
    on conflict (fileloc) do update set
        content_hash = excluded.content_hash, size = excluded.size, mtime = excluded.mtime,
        parsed_at = excluded.parsed_at, seconds = excluded.seconds, dag_ids = excluded.dag_ids
)
select 'new' as outcome, b.dag_id as name, null as holder from born b
union all select 'changed', c.dag_id, null from changed c
union all select 'same', a.dag_id, null from accepted a where not (a.is_new or a.is_changed or a.has_moved)
union all select 'refused', r.dag_id, r.holder from refused r
union all select 'gone', g.dag_id, null from gone g
union all select 'stale', s.fileloc, null from stale s
order by name

-- name: forget_files
-- Files are no longer there, so their DAGs are gone until they turn up again.
with {{moment}},
held_file as materialized (
    select f.fileloc from dag_file f where f.fileloc = any ($1::text[]) order by f.fileloc for update of f
),
held as materialized (
    select d.dag_id from dag d
    where d.fileloc = any ($1::text[]) and d.gone_at is null and (select count(*) from held_file) >= 0
    order by d.dag_id for update of d
),
changed as (
    update dag d set gone_at = moment.now from held h cross join moment where d.dag_id = h.dag_id
    returning d.dag_id
),
looked_at as (delete from dag_file f using held_file h where f.fileloc = h.fileloc),
noted as (delete from import_error e where e.fileloc = any ($1::text[]))
select dag_id from changed order by dag_id

-- name: files_looked_at
-- The files that DAGs were looked for in, and how long that took.
select fileloc, seconds from dag_file order by fileloc

-- name: file_hashes
-- What is stored of these files, told in short.
select fileloc, content_hash from dag_file where fileloc = any ($1::text[]) order by fileloc

-- name: schedules
-- What the next dates of these DAGs are told from: the last interval that was launched by schedule, and the time.
select asked.dag_id, last.data_interval_start as last_start, last.data_interval_end as last_end, bide_now() as now
from unnest($1::text[]) as asked (dag_id)
left join lateral (
    select r.data_interval_start, r.data_interval_end from dag_run r
    where r.dag_id = asked.dag_id and r.run_type = 'scheduled' and r.logical_date is not null
    order by r.logical_date desc limit 1
) last on true

-- name: stored_plans
-- The plans of these versions.
select id, plan from dag_version where id = any ($1::bigint[])

-- name: advance_schedule
-- A run was launched by schedule, or passed over; the next one comes then. Guarded by the date that it was due at.
update dag set next_logical_date = $3, next_interval_start = $4, next_interval_end = $5, next_run_at = $6
where dag_id = $1 and next_run_at = $2
returning dag_id
