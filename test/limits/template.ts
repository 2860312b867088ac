import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAdmin } from '../../src/ops/admin/admin.js';
import { Config } from '../../src/config/config.js';
import { openMigrated } from '../setup/schema.js';

/** A team's key, and its only app. */
export interface Team {
  key: string;
  appId: number;
  clientId: string;
  /** A write token of the app. */
  token: string;
}

/** A data directory with some teams; every attack is made on a copy. */
export class Template {
  readonly directory = mkdtempSync(join(tmpdir(), 'limits-'));
  readonly teams: Team[] = [];

  async fill(teams: number): Promise<void> {
    const store = await openMigrated(new Config({ DATA_DIR: this.directory }));
    try {
      const admin = createAdmin(store);
      for (let n = 1; n <= teams; n++) {
        const { id } = await admin.teams.create(`Team ${n}`, 'premium');
        const { key } = await admin.keys.create(id);
        const app = await admin.apps.create(id, `App ${n}`, 'express');
        const { token } = await admin.writeTokens.create(app.id);
        this.teams.push({ key, appId: app.id, clientId: app.client_id, token });
      }
    } finally {
      await store.close();
    }
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
