import { ClickHouse } from '../../src/store/client/clickhouse.client.js';
import { readMigrations } from '../../src/store/migrations/migrate.js';
import { Config } from '../../src/config/config.js';
import { describeEmbedded } from '../setup/store.js';
import { CrashSite, KILLS, Moments, SEED, randomFrom } from './crash.js';

/** After this number of kills on one directory, a migration may run to its end. */
const KILLS_IN_A_ROW = 8;

const SCHEMA = `
SELECT name, engine, create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name`;
const ENTERED = `SELECT version, name, checksum FROM schema_migrations ORDER BY version, applied_at`;
const SECRETS = `SELECT count() AS secrets FROM secrets_v1`;

describeEmbedded(`a migration that is killed ${KILLS} times at random (CRASH_SEED=${SEED})`, () => {
  const random = randomFrom(SEED);
  const sites: CrashSite[] = [];

  afterAll(() => {
    for (const site of sites) site.remove();
  });

  const site = () => {
    const made = new CrashSite();
    sites.push(made);
    return made;
  };

  /** Opens the directory, which is not migrated by that, and gives what is in it. */
  async function readContents({ env }: CrashSite) {
    const store = await ClickHouse.open(new Config(env));
    try {
      const schema = await store.rows<{ name: string }>('test.schema', SCHEMA);
      const isBegun = (table: string) => schema.some(({ name }) => name === table);
      const entered = isBegun('schema_migrations') ? await store.rows('test.entered', ENTERED) : [];
      const secrets = isBegun('secrets_v1') ? await store.rows('test.secrets', SECRETS) : [];
      return { schema, entered, secrets };
    } finally {
      await store.close();
    }
  }

  it('is continued by the next one, and ends as if it had never been killed', async () => {
    const versions = (await readMigrations()).length;
    const whole = site();
    await whole.complete(['migrate']);
    const expected = await readContents(whole);
    expect(expected.entered).toHaveLength(versions);
    const moments = new Moments(await site().complete(['migrate']), random);

    let [kills, within, migrations] = [0, 0, 0];
    while (kills < KILLS) {
      const crashed = site();
      for (let inARow = 0; inARow < KILLS_IN_A_ROW && kills < KILLS; inARow += 1) {
        const killAfterMs = moments.next();
        const { code, ms } = await crashed.run(['migrate'], killAfterMs);
        if (code === 0) {
          moments.tooLate(ms);
          break;
        }
        kills += 1;
        const { schema, entered } = await readContents(crashed);
        if (schema.length === 0) moments.tooEarly(killAfterMs);
        else if (entered.length < versions) within += 1;
      }
      await crashed.complete(['migrate']);
      expect(await readContents(crashed)).toEqual(expected);
      crashed.remove();
      migrations += 1;
    }
    process.stdout.write(
      `migration: ${kills} kills (${within} while it wrote), ${migrations} migrations whole\n`,
    );
  }, 600_000);
});
