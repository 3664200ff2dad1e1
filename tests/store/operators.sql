-- What people ask a database of such a system at night, in this house's wording. Tables, columns and functions are
-- those of the guides that they bring along.

-- name: one_wait
select trg.id as trigger_id, trg.classpath, trg.triggerer_id, trg.created_date, task.dag_id, task.task_id, task.run_id,
       task.state, task.trigger_timeout, NOW() - trg.created_date as age
from trigger trg join task_instance task on task.trigger_id = trg.id
where task.dag_id = 'etl' and task.task_id = 'slow' and task.run_id = 'run_1';

-- name: triggerers
select id, state, latest_heartbeat, hostname, NOW() - latest_heartbeat as silent_for
from job where job_type = 'TriggererJob' order by latest_heartbeat desc limit 5;

-- name: running_triggerers
select id, state, latest_heartbeat, hostname
from job where job_type = 'TriggererJob' and state = 'running' order by latest_heartbeat desc;

-- name: waits_per_triggerer
select trg.triggerer_id, j.hostname, COUNT(*) as waits
from trigger trg join job j on j.id = trg.triggerer_id
group by trg.triggerer_id, j.hostname order by waits desc;

-- name: capacity
select j.id, j.hostname, COUNT(trg.id) as load, 1000 as capacity, (COUNT(trg.id)::float / 1000 * 100)::int as percent
from job j left join trigger trg on trg.triggerer_id = j.id
where j.job_type = 'TriggererJob' and j.state = 'running'
group by j.id, j.hostname;

-- name: load_distribution
select j.id, j.hostname, COUNT(trg.id) as waits, j.latest_heartbeat
from job j left join trigger trg on trg.triggerer_id = j.id
where j.job_type = 'TriggererJob' and j.state = 'running'
group by j.id, j.hostname, j.latest_heartbeat;

-- name: overdue
select dag_id, task_id, run_id, trigger_timeout, NOW() - trigger_timeout as overdue_by, state
from task_instance
where state = 'deferred' and trigger_timeout is not null and trigger_timeout < NOW()
order by trigger_timeout;

-- name: overdue_triggers
select task.dag_id, task.task_id, task.run_id, task.trigger_id
from task_instance task
where task.state = 'deferred' and task.trigger_timeout is not null and task.trigger_timeout < NOW();

-- name: failing
select dag_id, task_id, run_id, next_method, next_kwargs
from task_instance where next_method = '__fail__' order by start_date desc limit 10;

-- name: everything
select trg.id as trigger_id, trg.classpath, trg.created_date, NOW() - trg.created_date as age, trg.triggerer_id,
       j.hostname as triggerer_hostname, j.latest_heartbeat, task.dag_id, task.task_id, task.run_id, task.state,
       task.trigger_timeout,
       case when task.trigger_timeout is not null and task.trigger_timeout < NOW() then 'late' else 'in time' end as timing
from trigger trg
left join task_instance task on task.trigger_id = trg.id
left join job j on j.id = trg.triggerer_id
order by trg.created_date desc limit 50;

-- name: nobodys_triggers
select trg.id, trg.classpath, trg.created_date, NOW() - trg.created_date as age
from trigger trg left join task_instance task on task.trigger_id = trg.id
where task.trigger_id is null order by trg.created_date;

-- name: seconds_by_hour
select DATE_TRUNC('hour', task.start_date) as hour, COUNT(*) as tasks,
       AVG(EXTRACT(EPOCH FROM (task.start_date - task.queued_at))) as seconds
from task_instance task
where task.state in ('success', 'failed') and task.trigger_id is not null
  and task.start_date > NOW() - INTERVAL '24 hours'
group by DATE_TRUNC('hour', task.start_date) order by hour desc;

-- name: longer_than_an_hour
select trg.id, trg.classpath, trg.created_date, EXTRACT(EPOCH FROM (NOW() - trg.created_date)) / 3600 as hours,
       task.dag_id, task.task_id
from trigger trg join task_instance task on task.trigger_id = trg.id
where NOW() - trg.created_date > INTERVAL '1 hour' order by hours desc;

-- name: free_to_take
select id, classpath, kwargs, created_date from trigger
where triggerer_id is null or triggerer_id in (
    select id from job where job_type = 'TriggererJob'
    and (state != 'running' or latest_heartbeat < NOW() - INTERVAL '5 minutes'))
limit 100 for update skip locked;

-- name: fail_the_overdue
update task_instance set state = 'scheduled', next_method = '__fail__', next_kwargs = '{"error": "By hand"}'
where state = 'deferred' and trigger_timeout < NOW();

-- name: forget_ended_waits
update task_instance set trigger_id = null where state != 'deferred' and trigger_id is not null;

-- name: delete_nobodys_triggers
delete from trigger
where id not in (select trigger_id from task_instance where trigger_id is not null)
  and id not in (select trigger_id from asset_watcher where trigger_id is not null)
  and id not in (select trigger_id from callback where trigger_id is not null);
