-- Versions of DAGs.

-- name: stored_plans
-- The plans of these versions.
select id, plan from dag_version where id = any ($1::bigint[])
