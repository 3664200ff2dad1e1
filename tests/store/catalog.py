"""What a database is, in words: two databases with equal descriptions behave equally."""

import asyncpg

# The order of columns is left out, because no statement relies on it and a migration can only add them at the end.
# The names of checks are in, because a later migration may have to name one. Some servers note among the options of a
# column, as `pg_attver`, when it came to be; that is no part of the shape.
CATALOG = """
with ours as (
    select c.oid, c.relname, c.relkind, c.relpersistence, c.reloptions, c.relrowsecurity, c.relacl, c.relreplident
    from pg_class c where c.relnamespace = 'public'::regnamespace
)
select 'relation' as kind, relname::text as name,
       concat_ws(' ', relkind, relpersistence, array(select unnest(reloptions) order by 1), relrowsecurity, relacl,
                 relreplident, obj_description(oid)) as text
from ours
union all
select 'column', relname || '.' || attname,
       concat_ws(' ', format_type(atttypid, atttypmod), attnotnull, 'default', pg_get_expr(d.adbin, d.adrelid),
                 'identity', attidentity, 'generated', attgenerated, attcollation::regcollation, attstorage,
                 attcompression, array(select o from unnest(attoptions) o where o not like 'pg_attver=%'), attacl,
                 col_description(ours.oid, attnum))
from ours join pg_attribute on attrelid = ours.oid and attnum > 0 and not attisdropped
left join pg_attrdef d on d.adrelid = ours.oid and d.adnum = attnum
union all
select 'constraint', relname || '.' || conname, concat_ws(' ', pg_get_constraintdef(con.oid), convalidated)
from ours join pg_constraint con on con.conrelid = ours.oid
union all
select 'index', relname::text, concat_ws(' ', pg_get_indexdef(oid), indisvalid, indisprimary, indisclustered)
from ours join pg_index on indexrelid = oid
union all
select 'sequence', relname::text, concat_ws(' ', seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache,
       seqcycle, (select refobjid::regclass || '.' || refobjsubid from pg_depend
                  where objid = oid and deptype in ('a', 'i') and refclassid = 'pg_class'::regclass))
from ours join pg_sequence on seqrelid = oid
union all
select 'view', relname::text, pg_get_viewdef(oid) from ours where relkind in ('v', 'm')
union all
select 'trigger', relname || '.' || tgname, concat_ws(' ', pg_get_triggerdef(t.oid), tgenabled)
from ours join pg_trigger t on tgrelid = ours.oid and not tgisinternal
union all
select 'statistics', stxname::text, pg_get_statisticsobjdef(oid) from pg_statistic_ext
where stxnamespace = 'public'::regnamespace
union all
select 'routine', oid::regprocedure::text, concat_ws(' ', pg_get_functiondef(oid), proacl)
from pg_proc where pronamespace = 'public'::regnamespace and prokind <> 'a'
union all
select 'type', typname::text, concat_ws(' ', typtype, typnotnull, typdefault, array(
    select enumlabel from pg_enum where enumtypid = t.oid order by enumsortorder)::text)
from pg_type t where typnamespace = 'public'::regnamespace and typtype in ('e', 'd', 'r')
union all
select 'extension', extname::text, extversion from pg_extension
"""


async def description(url: str) -> dict[tuple[str, str], str]:
    """Describe all that stands in the schema `public`, with the rows of its tables."""
    connection = await asyncpg.connect(url)
    try:
        found = {(row["kind"], row["name"]): row["text"] for row in await connection.fetch(CATALOG)}
        for kind, table in list(found):
            # When a migration was applied is no part of the shape.
            if kind == "relation" and found[kind, table].startswith("r ") and table != "migration":
                rows = await connection.fetch(f"select to_json(t)::text from {table} t order by 1")
                found["rows", table] = "\n".join(row[0] for row in rows)
        return found
    finally:
        await connection.close()
