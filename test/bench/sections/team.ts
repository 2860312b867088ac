import { TEAM_KEY } from '../dataset/shape.js';
import { HttpConnection } from '../load/http-connection.js';
import { httpRound, inTurn } from '../load/rounds.js';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import { Child } from '../rpc.js';
import type { Bare, PlainHandlers } from '../server/plain.js';
import type { Service } from '../service.js';
import type { Workspace } from '../workspace.js';

const PATH = '/v1/team';
const CONNECTIONS = 32;
const ROUND_MS = 1_500;
/** Node sets these by itself. */
const OWN_HEADERS = new Set(['date', 'connection', 'keep-alive']);

const BARE: readonly Bare[] = ['node:http', 'express', 'nest'];

/** Requests a second for Get Team, and for bare servers with the same bytes and headers. */
export interface TeamRates {
  teamPerSecond: number;
  barePerSecond: Record<Bare, number>;
}

export async function measureTeam(
  service: Service,
  workspace: Workspace,
  options: Options,
): Promise<TeamRates | undefined> {
  if (!wants(options, 'team')) return undefined;
  progress('Get Team beside plain node:http');
  const response = await fetchResponse(service.port);
  const plain = await Child.start<PlainHandlers>('./server/plain.js', { log: workspace.file('plain.log') });
  const rate = (to: number) => async () => {
    const round = await httpRound({ port: to, key: TEAM_KEY, path: () => PATH }, CONNECTIONS, ROUND_MS);
    return round.length / (ROUND_MS / 1000);
  };
  const bare: (() => Promise<number>)[] = [];
  for (const kind of BARE) bare.push(rate(await plain.call('listen', kind, response)));
  const rounds = Math.max(5, Math.round(options.budgetMs / ROUND_MS));
  const [teamPerSecond = NaN, ...rates] = await inTurn([rate(service.port), ...bare], rounds);
  await plain.stop();
  const barePerSecond = Object.fromEntries(BARE.map((kind, index) => [kind, rates[index] ?? NaN]));
  return { teamPerSecond, barePerSecond: barePerSecond as Record<Bare, number> };
}

/** The very headers and body of the service. */
async function fetchResponse(port: number): Promise<{ headers: Record<string, string>; body: string }> {
  const connection = await HttpConnection.open(port, TEAM_KEY);
  const { head, body } = await connection.get(PATH);
  connection.close();
  const pairs = head
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(': ') as [string, string])
    .filter(([name]) => name !== '' && !OWN_HEADERS.has(name.toLowerCase()));
  return { headers: Object.fromEntries(pairs), body: body.toString() };
}
