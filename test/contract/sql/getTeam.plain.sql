-- GET /v1/team

-- api_keys.find
SELECT k.identifier AS identifier, k.key_sha256 AS key_sha256,
  toUnixTimestamp64Milli(k.expires_at) AS expires_at_ms, k.revoked_at IS NOT NULL AS revoked,
  k.app_ids AS app_ids, k.operations AS operations, k.has_bodies AS has_bodies, k.consumer AS consumer,
  k.requests_per_minute AS requests_per_minute, t.id AS team_id, t.name AS team_name, t.plan AS plan
FROM api_keys_v1 AS k FINAL
INNER JOIN teams_v1 AS t FINAL ON t.id = k.team_id
WHERE k.identifier = {identifier:String};
