import type { Env } from '../../api/apps/apps.dto.js';
import { isLongerThan, sanitize } from '../../records/text.js';
import { MAX_VERSION } from '../../sources/decoding/startup.js';
import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { AdminError } from './admin.error.js';
import type { AppsAdmin } from './apps.admin.js';

interface ReleaseMark {
  version: string;
  env: string;
  released_at: string;
}

const MARKS = `
SELECT m.app_version AS version, e.name AS env, m.released_at AS released_at
FROM release_marks_v1 AS m FINAL
LEFT JOIN (SELECT id, name FROM app_envs_v1 FINAL WHERE app_id = {app_id:UInt32}) AS e ON e.id = m.app_env_id
WHERE m.app_id = {app_id:UInt32} AND m.marked
ORDER BY m.released_at, version, env`;

/** The releases that operators mark. */
export class ReleasesAdmin {
  constructor(
    private readonly store: ClickHouse,
    private readonly apps: AppsAdmin,
  ) {}

  /**
   * Marks when a version began, in one environment or in all that the app has. A second mark of a version
   * replaces the first one.
   */
  async mark(
    appId: number,
    version: string,
    { env, at = Date.now() }: { env?: string | undefined; at?: number | undefined } = {},
  ): Promise<ReleaseMark[]> {
    const envs = await this.findEnvs(appId, env);
    const name = sanitize(version.trim());
    if (name === '' || isLongerThan(name, MAX_VERSION))
      throw new AdminError(`A version is a text of 1 to ${MAX_VERSION} characters`);
    if (at > Date.now()) throw new AdminError('A release cannot begin in the future');
    await this.write(appId, name, envs, at);
    return envs.map((env) => ({
      version: name,
      env: env.name,
      released_at: new Date(at).toISOString(),
    }));
  }

  /** Takes marks back. What processes report of the version stays. */
  async unmark(
    appId: number,
    version: string,
    { env }: { env?: string | undefined } = {},
  ): Promise<ReleaseMark[]> {
    const envs = await this.findEnvs(appId, env);
    const marks = (await this.list(appId)).filter(
      (mark) => mark.version === version.trim() && (env === undefined || mark.env === env),
    );
    if (marks.length === 0) throw new AdminError(`App ${appId} has no such mark; release list has all marks`);
    const marked = envs.filter(({ name }) => marks.some((mark) => mark.env === name));
    await this.write(appId, version.trim(), marked, null);
    return marks;
  }

  async list(appId: number): Promise<ReleaseMark[]> {
    await this.apps.require(appId);
    return this.store.rows<ReleaseMark>('release_marks.list', MARKS, { app_id: appId });
  }

  /** @param at null: takes the mark back */
  private async write(appId: number, version: string, envs: readonly Env[], at: number | null) {
    const rows = envs.map(({ id }) => ({
      app_id: appId,
      app_env_id: id,
      app_version: version,
      released_at: at ?? 0,
      marked: at !== null,
    }));
    await this.store.insert(
      'release_marks_v1',
      rows.map((row) => JSON.stringify(row)),
    );
  }

  /** @throws AdminError if there are none */
  private async findEnvs(appId: number, env: string | undefined): Promise<Env[]> {
    const envs = await this.apps.listEnvironments(appId);
    const found = env === undefined ? envs : envs.filter(({ name }) => name === env);
    if (found.length > 0) return found;
    const names = envs.map(({ name }) => name).join(', ');
    throw new AdminError(
      names === ''
        ? `App ${appId} has no environment yet: its first data bring one`
        : `App ${appId} has no environment ${env ?? ''}; it has ${names}`,
    );
  }
}
