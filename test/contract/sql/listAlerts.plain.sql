-- GET alerts

-- apps.list
SELECT id, name, framework, client_id, created_at
FROM apps_v1 FINAL
WHERE team_id = {team_id:UInt32} AND id > {after_id:UInt32}
  AND id IN {app_ids:Array(UInt32)}
ORDER BY id
LIMIT 500;

-- apps.list_envs
SELECT e.app_id AS app_id, e.id AS id, e.name AS name, e.created_at AS created_at,
  if(a.last_sync_at = toDateTime64(0, 3), NULL, a.last_sync_at) AS last_sync_at
FROM app_envs_v1 AS e FINAL
LEFT JOIN (
  SELECT app_id, app_env_id, max(last_sync_at) AS last_sync_at
  FROM env_activity_v1
  WHERE app_id IN {app_ids:Array(UInt32)}
  GROUP BY app_id, app_env_id
) AS a ON a.app_id = e.app_id AND a.app_env_id = e.id
WHERE e.app_id IN {app_ids:Array(UInt32)}
ORDER BY e.id;

-- alerts.rules
SELECT team_id, app_id, name, toString(source) AS source, definition, receivers, muted_until
FROM alert_rules_v1 FINAL
WHERE team_id = {team_id:UInt32} AND NOT deleted
ORDER BY app_id, name;

-- alerts.states
SELECT rule_app_id, rule, app_id, toString(state) AS state, s.since AS since, value, s.evaluated_at AS evaluated_at
FROM alert_states_v1 AS s FINAL
WHERE team_id = {team_id:UInt32} AND app_id IN {app_ids:Array(UInt32)}
ORDER BY rule_app_id, rule, app_id, since DESC
LIMIT 10 BY rule_app_id, rule, app_id;
