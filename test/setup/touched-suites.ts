/** The suites of each folder. A changed file counts for the first folder of the list that contains it. */
const SUITES: readonly (readonly [folder: string, suites: RegExp])[] = [
  ['src/access/rate-limit', /rate-limit|failed-auth/],
  ['src/access', /key-scopes|tenancy|failed-auth|demo-key/],
  ['src/api/app-metrics', /app-metrics|contract\/sql/],
  ['src/api/apps', /e2e\/apps|client-apps/],
  ['src/api/consumers', /e2e\/consumers|contract\/sql/],
  ['src/api/endpoints', /e2e\/endpoints|exclusion|contract\/sql/],
  ['src/api/request-logs/export', /export|file-formats|contract\/sql/],
  ['src/api/request-logs', /request-log|request-details|e2e\/pages|contract\/sql/],
  ['src/api/team', /e2e\/team/],
  ['src/api/traces', /e2e\/traces|contract\/sql/],
  ['src/api/traffic', /traffic|contract\/sql/],
  ['src/config', /routing|e2e\/health|query-limits/],
  ['src/coordination', /lost-leases|store-socket|settle|write-gate/],
  ['src/entry', /public-routes|e2e\/health|demo-key/],
  ['src/mcp', /e2e\/mcp/],
  ['src/ops/admin', /integration\/admin|retention|consumer-eraser|exclusion/],
  ['src/ops/backup', /backup\.service/],
  ['src/ops', /e2e\/health|store-status/],
  ['src/platform/input', /validation|query-parameters|fuzz/],
  ['src/platform/openapi', /contract\/openapi|typed-client|e2e\/contract/],
  ['src/platform/paging', /page-tokens|pages|pagination/],
  ['src/platform', /routing|raw-http|conditional-requests|cors|problem-details|e2e\/contract/],
  ['src/queries/calendar', /traffic|periods/],
  ['src/queries/files', /e2e\/export\.|file-formats/],
  ['src/queries/filters', /filter/],
  ['src/queries', /query-|e2e\/isolation|e2e\/request-logs|contract\/sql/],
  ['src/records/names', /id-claims|client-apps|e2e\/consumers/],
  ['src/records', /requests\.writer|request-details/],
  ['src/shared', /e2e\/request-logs|e2e\/traffic/],
  ['src/sources/hub', /collector\/protocol|bodies/],
  ['src/sources/otlp', /collector\/otlp|imported-spans/],
  ['src/sources', /bodies|imported-spans|otlp-requests/],
  ['src/store/embedded', /embedded|store-socket/],
  ['src/store/migrations', /migrations|cluster-ddl|contract\/sql/],
  ['src/store', /query-|integration\/isolation|store-/],
  ['src/telemetry', /e2e\/health|settle/],
  ['src/write', /requests\.writer|batch-log|request-claims|write-gate|missing-view/],
  ['src', /e2e\/health|routing/],
  ['clickhouse', /migrations|cluster-ddl|accounts-columns|contract\/sql/],
  ['test/factories', /requests\.writer|e2e\/request-logs/],
  ['test/setup', /e2e\/request-logs|e2e\/tenancy|collector\/protocol/],
];

/** Suites that need a build, and slow ones: `npm test` and CI run them. */
const LEFT_TO_OTHERS = /\.(process|slow)\.spec\.ts$/;

/** The suites for changed files; a changed suite is one of them. */
export function findSuites(changed: readonly string[], suites: readonly string[]): string[] {
  const patterns = changed.flatMap((file) => {
    const [, pattern] = SUITES.find(([folder]) => file.startsWith(`${folder}/`)) ?? [];
    return pattern ?? [];
  });
  return suites.filter(
    (suite) =>
      !LEFT_TO_OTHERS.test(suite) &&
      (changed.includes(suite) ||
        patterns.some((pattern) => suite.startsWith('test/') && pattern.test(suite))),
  );
}

/** Folders of the list whose pattern matches no suite. */
export function findEmptyFolders(suites: readonly string[]): string[] {
  return SUITES.filter(([folder]) => findSuites([`${folder}/x.ts`], suites).length === 0).map(
    ([folder]) => folder,
  );
}
