import { compile } from '../setup/compile.js';

/** What stands before each statement. */
const PREAMBLE = `
import type { Account } from '../../src/platform/http/account.js';
import type { AppScope, AppsService } from '../../src/api/apps/apps.service.js';
import type { AppScopedStore } from '../../src/api/apps/app-scoped-store.js';
import type { ConsumersRepository } from '../../src/api/consumers/consumers.repository.js';
import type { EndpointsRepository } from '../../src/api/endpoints/endpoints.repository.js';
import type { RequestLogsRepository } from '../../src/api/request-logs/request-logs.repository.js';
import type { TrafficRepository } from '../../src/api/traffic/traffic.repository.js';
declare const account: Account;
declare const apps: AppsService;
declare const store: AppScopedStore;
declare const consumers: ConsumersRepository;
declare const endpoints: EndpointsRepository;
declare const requestLogs: RequestLogsRepository;
declare const traffic: TrafficRepository;
declare const scope: AppScope;
`;

const STEP = '{ window: { start: 0, end: 1 }, limit: 1, useTermIndex: false }';
const MEMBERS = 'teamId: 1, appId: 2, excludedEndpointIds: []';

const COMPILES = {
  'the store, with a scope that AppsService found': `
    export const rows = store.rows(await apps.require(account, 1), 'name', 'SELECT 1');`,
  endpoints: 'export const rows = endpoints.list(scope, {});',
  consumers: 'export const rows = consumers.page(scope, { limit: 1 });',
  'request logs': `export const rows = requestLogs.page(scope, {}, ${STEP}, undefined);`,
  'request details': `export const row = requestLogs.find(scope, 'uuid', 0);`,
  traffic: `export const rows = traffic.sums(scope, {}, [0, 1], 1);`,
};

const FORGED = `{ ${MEMBERS} }`;
const withoutScope = (statement: string) => statement.replace('scope, ', '');
const withForged = (statement: string) => statement.replace('scope, ', `${FORGED}, `);

const DOES_NOT = {
  'rows without a scope': `export const rows = store.rows('name', 'SELECT 1');`,
  'lines without a scope': `export const lines = store.jsonLines('name', 'SELECT 1');`,
  'the ID of an app for a scope': `export const rows = store.rows(1, 'name', 'SELECT 1');`,
  'an object literal for a scope': `export const rows = store.rows(${FORGED}, 'name', 'SELECT 1');`,
  'a copy of a scope': `export const other: AppScope = { ...scope, appId: 2 };`,
  'an object of the same members': `export const other: AppScope = { ${MEMBERS}, checked: true as const };`,
  'a class of the same members': `
    export class Forged implements AppScope {
      teamId = 1; appId = 2; excludedEndpointIds = [];
      get checked() { return true as const; }
    }`,
  'an account for a scope': `export const rows = store.rows(account, 'name', 'SELECT 1');`,
  'the class of scopes': `import { CheckedAppScope } from '../../src/api/apps/apps.service.js'; new CheckedAppScope(1, 2, []);`,
  'changing the app of a scope': 'scope.appId = 2;',
  ...Object.fromEntries(
    (['endpoints', 'consumers', 'request logs', 'request details', 'traffic'] as const).flatMap((name) => [
      [`${name} without a scope`, withoutScope(COMPILES[name])],
      [`${name} with an object literal`, withForged(COMPILES[name])],
    ]),
  ),
};

describe('the scope of an app', () => {
  let diagnostics: Record<string, string[]>;
  beforeAll(() => {
    const sources = Object.entries({ ...COMPILES, ...DOES_NOT }).map(([name, source]) => [
      name,
      PREAMBLE + source,
    ]);
    diagnostics = compile('test/contract', Object.fromEntries(sources) as Record<string, string>);
  });

  it.each(Object.keys(COMPILES))('compiles: %s', (name) => {
    expect(diagnostics[name]).toEqual([]);
  });

  it.each(Object.keys(DOES_NOT))('does not compile: %s', (name) => {
    const about = /AppScope|Expected \d+(-\d+)? arguments|not exported|not assignable|read-only|private/;
    expect(diagnostics[name]).toEqual([expect.stringMatching(about)]);
  });
});
