-- Versions of DAGs.

-- name: stored_plans
-- The plans of these versions.
select id, plan from dag_version where id = any ($1::bigint[])

-- name: advance_schedule
-- The run of an interval was launched; the next one is due then. Guarded by the date that it was launched for.
update dag set last_interval_start = $3, last_interval_end = $4, next_run_at = $5
where dag_id = $1 and next_run_at = $2
returning dag_id
