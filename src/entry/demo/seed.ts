import { hash } from 'node:crypto';
import { AlertStore } from '../../alerts/alert-store.js';
import { toStored } from '../../alerts/rules-file.js';
import { RULE } from '../../api/alerts/rule.js';
import { AdminError } from '../../ops/admin/admin.error.js';
import { type Admin, createAdmin } from '../../ops/admin/admin.js';
import { findTokenIdentifier } from '../../access/tokens/write-token.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { trafficRetainedFrom } from '../../config/retention.js';
import type { Config } from '../../config/config.js';
import { listOperations } from '../../sources/decoding/api-document.js';
import { finish } from '../../shared/async/slices.js';
import { RequestsWriter } from '../../write/requests.writer.js';
import { DAY_MS } from '../../shared/time/units.js';
import { demoKey } from './demo-key.js';
import { EXCLUDED, createDocument } from './endpoints.js';
import { Loader, type DemoSample, getSteps, listBlocks } from './loader.js';
import { SeedProgress } from './progress-log.js';
import { RULES, listReleases } from './trouble.js';

const TEAM = 'Demo';
const APP = { name: 'Shop API', framework: 'express' };
const TOKEN = 'demo';
const TOKEN_OF_KEY = 'DEMO_API_KEY';
const EXCLUSION = 'endpoint excluded';
const DOCUMENT = 'document imported';
const ALERTS = 'alerts created';
const getReleaseStep = (version: string) => `release ${version} marked`;
const BLOCKS_PER_LINE = 10;

/**
 * Brings the sample in a migrated store up to `now` (milliseconds since the epoch): the team "Demo", its app
 * "Shop API", 13 months of traffic and 15 days of requests. What an earlier start wrote stays as it is, marks
 * on endpoints included. The same time always gets the same requests, and none after `now` is written.
 *
 * @param report called with lines about the progress
 * @returns a key that is valid now (see `demoKey`), the app, its client ID, the sample's beginning and a
 *   write token: that of `DEMO_API_KEY`, or one that lasts until the next start
 * @throws AdminError when `DEMO_API_KEY` cannot be used, or the store has data of other teams
 */
export async function seedDemo(
  store: ClickHouse,
  config: Config,
  now: number,
  report: (line: string) => void = () => undefined,
): Promise<{ key: string; appId: number; clientId: string; origin: number; writeToken: string }> {
  const admin = createAdmin(store);
  const teamId = await ensureTeam(admin, now);
  const key = await demoKey(store, admin, teamId, config.demoApiKey);
  const { appId, clientId, origin } = await ensureApp(admin, teamId, now);
  await load(store, teamId, { appId, origin, now }, report);
  return { key, appId, clientId, origin, writeToken: await createToken(admin, appId, config.demoApiKey) };
}

/**
 * With a fixed key, the token is fixed as well. Otherwise each start creates a token and revokes the last
 * one, because the store only has hashes.
 */
async function createToken(admin: Admin, appId: number, key: string | undefined): Promise<string> {
  const tokens = await admin.writeTokens.list(appId);
  if (key !== undefined) {
    const token = `apt_${hash('sha256', `write token of ${key}`).slice(0, 24)}`;
    const existing = tokens.find(({ identifier }) => identifier === findTokenIdentifier(token));
    if (!existing) await admin.writeTokens.create(appId, { name: TOKEN_OF_KEY, token });
    if ((existing?.revoked_at ?? null) === null) return token;
  }
  const { token } = await admin.writeTokens.create(appId, { name: TOKEN });
  for (const { identifier, name, revoked_at } of tokens)
    if (name === TOKEN && revoked_at === null) await admin.writeTokens.revoke(appId, identifier);
  return token;
}

async function load(
  store: ClickHouse,
  teamId: number,
  sample: DemoSample,
  report: (line: string) => void,
): Promise<void> {
  const blocks = listBlocks(sample.origin, sample.now);
  const releases = listReleases(sample.origin);
  const steps = blocks.map(getSteps).flatMap(({ started, done }) => [started, done]);
  const progress = await SeedProgress.open(store, sample.appId, [
    ...steps,
    EXCLUSION,
    DOCUMENT,
    ALERTS,
    ...releases.map(({ version }) => getReleaseStep(version)),
  ]);
  // Only once, so that a document of somebody who tries the import stays.
  if (!progress.isDone(DOCUMENT)) {
    const document = createDocument();
    const routes = finish(listOperations(document));
    const texts = { document: JSON.stringify(document), routes: JSON.stringify(routes) };
    await createAdmin(store).documents.import(sample.appId, undefined, texts);
    await progress.markDone(DOCUMENT);
  }
  // Only once, so that a rule that was deleted stays deleted. Nobody is told: they have no receivers.
  if (!progress.isDone(ALERTS)) {
    const rules = Object.entries(RULES).map(([name, rule]) =>
      toStored(teamId, { app: sample.appId, name, rule: RULE.parse(rule), receivers: [] }, 'command'),
    );
    await new AlertStore(store).saveRules(rules);
    await progress.markDone(ALERTS);
  }
  const loader = new Loader(RequestsWriter.create(store), progress, sample);
  const missing = blocks.filter((block) => !progress.isDone(getSteps(block).done));
  for (const [index, block] of missing.entries()) {
    if (index % BLOCKS_PER_LINE === BLOCKS_PER_LINE - 1)
      report(`loading ${new Date(block).toISOString().slice(0, 10)} and after`);
    await loader.load(block);
    if (progress.isDone(EXCLUSION)) continue;
    await loader.end();
    // Only once, so that a mark that was removed stays removed.
    await createAdmin(store).endpoints.setExcluded(sample.appId, EXCLUDED.method, EXCLUDED.path, true);
    await progress.markDone(EXCLUSION);
  }
  await loader.end();
  // Behind the requests, which bring the environments. Only once each, as above.
  for (const { version, at } of releases) {
    if (at > sample.now || progress.isDone(getReleaseStep(version))) continue;
    await createAdmin(store).releases.mark(sample.appId, version, { at });
    await progress.markDone(getReleaseStep(version));
  }
}

async function ensureTeam(admin: Admin, now: number): Promise<number> {
  const teams = await admin.teams.list();
  const existing = teams.find(({ name }) => name === TEAM);
  if (!existing && teams.length > 0)
    throw new AdminError(
      'The store has teams of its own, and the demo would add its sample to them: use another DATA_DIR',
    );
  return (existing ?? (await admin.teams.create(TEAM, 'premium', computeOrigin(now)))).id;
}

/** The sample begins with its app. At the first start it reaches back as far as traffic is retained. */
async function ensureApp(admin: Admin, teamId: number, now: number) {
  const existing = (await admin.teams.listApps(teamId)).find(({ name }) => name === APP.name);
  const app = existing ?? (await admin.apps.create(teamId, APP.name, APP.framework, computeOrigin(now)));
  return { appId: app.id, clientId: app.client_id, origin: Date.parse(app.created_at) };
}

function computeOrigin(now: number): number {
  return Math.floor(trafficRetainedFrom(now) / DAY_MS) * DAY_MS;
}
