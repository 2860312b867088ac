import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfiguredServer } from './configured-server.js';

/** The statements of a file of `clickhouse/accounts`, without comments. */
export function accountStatements(file: string): string[] {
  const text = readFileSync(join('clickhouse/accounts', file), 'utf8').replace(/^\s*--.*$/gm, '');
  return text
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** What a file lets a role do: its GRANTs without the role's name. */
export function readGrants(role: string, file = 'roles.sql'): string[] {
  return accountStatements(file)
    .filter((statement) => statement.startsWith('GRANT') && statement.endsWith(` TO ${role}`))
    .map((statement) => statement.slice(0, -` TO ${role}`.length));
}

/**
 * An engine on a data directory, all of whose statements run as one of our roles. The embedded engine keeps
 * no accounts, but it takes grants and a settings profile of its only user from a configuration: they are
 * made of `roles.sql`.
 *
 * @param server more elements of the server's configuration
 */
export function startAs(role: string, dataDirectory: string, server = ''): Promise<ConfiguredServer> {
  const grants = readGrants(role).map((grant) => grant.replace(/\bON (\w+|\*)$/, 'ON default.$1'));
  return ConfiguredServer.start(dataDirectory, role, {
    profile: readProfile(role),
    grants,
    server: AS_INSTALLED + server,
  });
}

/** As a server's own configuration has it: tables of `system` need a grant as well. */
const AS_INSTALLED = element(
  'access_control_improvements',
  element('select_from_system_db_requires_grant', 'true'),
);

const SETTING = /(\w+) = ('\w+'|\d+)(?: MIN (\d+) MAX (\d+))?( CONST)?/g;

function readProfile(role: string): string {
  const head = `CREATE SETTINGS PROFILE OR REPLACE ${role} SETTINGS`;
  const profile = accountStatements('roles.sql').find((statement) => statement.startsWith(head)) ?? head;
  const settings = [...profile.slice(head.length).matchAll(SETTING)];
  const values = settings.map(([, name = '', value = '']) => element(name, value.replaceAll("'", '')));
  const constraints = settings.map(([, name = '', , min = '', max, isConst]) => {
    const range = max === undefined ? '' : element('min', min) + element('max', max);
    return element(name, range + (isConst === undefined ? '' : '<readonly/>'));
  });
  return values.join('') + element('constraints', constraints.join(''));
}

function element(name: string, content: string): string {
  return `<${name}>${content}</${name}>`;
}
