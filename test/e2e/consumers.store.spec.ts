import { TestApp } from '../setup/app.js';
import { type ConsumerBody, Tenant } from '../setup/tenant.js';

const SECOND = 1_000;
const DAY = 86_400_000;

describe('GET /v1/apps/{app_id}/consumers', () => {
  let app: TestApp;
  let tenant: Tenant;

  beforeAll(async () => {
    app = await TestApp.start();
  });

  const startOver = async () => {
    tenant = await Tenant.create(app);
  };

  afterAll(() => app.stop());

  const names = (consumers: ConsumerBody[]) => consumers.map(({ identifier }) => identifier);
  const buildRequests = (...identifiers: string[]) =>
    tenant.write(...identifiers.map((identifier) => ({ consumer: { identifier } })));

  describe('200', () => {
    beforeEach(startOver);

    it("has the consumer's members in the specification's order", async () => {
      const timestamp = Date.now() - 5 * DAY;
      const consumer = { identifier: 'bob@example.com', name: 'Bob', group: 'Partners' };
      await tenant.write({ timestamp, consumer });
      const { text, body } = await tenant.get('consumers');
      const [{ id, group, created_at }] = body.data;
      expect(text).toBe(
        `{"data":[{"id":${id},"identifier":"bob@example.com","name":"Bob",` +
          `"group":{"id":${group.id},"name":"Partners"},"created_at":"${created_at}",` +
          `"last_request_at":"${new Date(timestamp).toISOString()}"}],"has_more":false}`,
      );
      expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    });

    it('tells new, returning and quiet consumers apart, as they were counted', async () => {
      const days: Record<string, number[]> = {
        fresh: [1, 29],
        faithful: [2, 3, 200],
        back: [0, 395],
        gone: [31, 32, 90],
        lost: [400],
        hidden: [5],
      };
      const now = Date.now();
      await tenant.write(
        ...Object.entries(days).flatMap(([identifier, ago]) =>
          ago.map((day) => ({
            timestamp: now - day * DAY,
            consumer: { identifier },
            path: identifier === 'hidden' ? '/hidden' : '/a',
          })),
        ),
      );
      await tenant.exclude('GET', '/hidden');
      const { data } = await tenant.page<ConsumerBody & { activity: object }>('consumers', {
        include: 'activity',
      });
      const quarter = (day: number) => {
        const start = Math.floor((now - day * DAY) / (900 * SECOND)) * 900 * SECOND;
        return new Date(start).toISOString().replace('.000Z', 'Z');
      };
      expect(Object.fromEntries(data.map(({ identifier, activity }) => [identifier, activity]))).toEqual({
        fresh: { state: 'new', first_request_at: quarter(29), requests: 2 },
        faithful: { state: 'returning', first_request_at: quarter(200), requests: 2 },
        back: { state: 'returning', first_request_at: quarter(395), requests: 1 },
        gone: { state: 'quiet', first_request_at: quarter(90), requests: 0 },
        // Its request is older than what is kept.
        lost: { state: 'quiet', first_request_at: null, requests: 0 },
        hidden: { state: 'quiet', first_request_at: null, requests: 0 },
      });
      const plain = await tenant.page<ConsumerBody>('consumers');
      expect(plain.data).toEqual(data.map(({ activity, ...consumer }) => consumer));
    });

    it('has pages with activity as without it', async () => {
      await buildRequests('a', 'b', 'c');
      const first = await tenant.page<ConsumerBody>('consumers', { include: 'activity', limit: 2 });
      const second = await tenant.page<ConsumerBody>('consumers', {
        include: 'activity',
        limit: 2,
        next_token: first.next_token!,
      });
      expect([...first.data, ...second.data]).toMatchObject(
        ['c', 'b', 'a'].map((identifier) => ({
          identifier,
          activity: { state: 'new', requests: 1, first_request_at: expect.any(String) as string },
        })),
      );
    });

    it('has null as the group of a consumer without one, and the identifier as the name where none was given', async () => {
      await buildRequests('anna');
      expect((await tenant.consumers()).data).toMatchObject([
        { identifier: 'anna', name: 'anna', group: null },
      ]);
    });

    it('has the creation time as the last request of a consumer that made none, which is active since never', async () => {
      const row = {
        app_id: tenant.appId,
        id: 1_000_001,
        identifier: 'idle',
        name: 'Idle',
        group_id: 0,
        created_at: '2026-01-02 03:04:05.678',
      };
      await app.store.insert('consumers_v1', [JSON.stringify(row)]);
      expect((await tenant.get('consumers')).text).toBe(
        '{"data":[{"id":1000001,"identifier":"idle","name":"Idle","group":null,' +
          '"created_at":"2026-01-02T03:04:05.678Z","last_request_at":"2026-01-02T03:04:05.678Z"}],"has_more":false}',
      );
      expect((await tenant.consumers({ requests_since: '2026-01-01' })).data).toEqual([]);
    });

    it('has the most recent request, in any order of arrival, logged or not', async () => {
      const consumer = { identifier: 'anna' };
      const latest = Date.now() - 60 * SECOND;
      const last = async () => (await tenant.consumers()).data[0]!.last_request_at;
      await tenant.write({ consumer, timestamp: latest - 20 * DAY });
      expect(await last()).toBe(new Date(latest - 20 * DAY).toISOString());
      await tenant.write({ consumer, timestamp: latest, excluded_from_logs: true });
      await tenant.write({ consumer, timestamp: latest - 1 });
      expect(await last()).toBe(new Date(latest).toISOString());
    });

    it('gives identifiers, names and groups as they were given', async () => {
      const odd = String.raw`"quoted" \ 'single' {x:String} 株式会社 🚀` + '\n\u2028';
      await tenant.write({ consumer: { identifier: odd, name: `${odd} n`, group: `${odd} g` } });
      const [consumer] = (await tenant.consumers()).data;
      expect(consumer).toMatchObject({ identifier: odd, name: `${odd} n`, group: { name: `${odd} g` } });
    });

    it('is ordered by ID, descending, and holds the consumers of this app alone', async () => {
      const sibling = await tenant.sibling();
      await buildRequests('first', 'second');
      await sibling.write({ consumer: { identifier: 'elsewhere' } }, { consumer: { identifier: 'first' } });
      await buildRequests('third', 'first');
      const { data } = await tenant.consumers();
      expect(names(data)).toEqual(['third', 'second', 'first']);
      expect(data.map(({ id }) => id)).toEqual(data.map(({ id }) => id).sort((a, b) => b - a));
      expect(names((await sibling.consumers()).data)).toEqual(['first', 'elsewhere']);
    });

    it('gives consumers of one group the same group, and groups of one name in two apps different IDs', async () => {
      const sibling = await tenant.sibling();
      const member = (identifier: string) => ({ consumer: { identifier, group: 'Partners' } });
      await tenant.write(member('a'), member('b'));
      await sibling.write(member('a'));
      const [b, a] = (await tenant.consumers()).data;
      const [elsewhere] = (await sibling.consumers()).data;
      expect(a!.group).toEqual(b!.group);
      expect(elsewhere!.group!.id).not.toBe(a!.group!.id);
    });
  });

  describe('requests_since', () => {
    const at = Date.parse('2026-03-04T05:06:07.890Z');

    beforeAll(async () => {
      await startOver();
      await tenant.write(
        { timestamp: at - 1, consumer: { identifier: 'before' } },
        { timestamp: at, consumer: { identifier: 'at' } },
        { timestamp: at + DAY, consumer: { identifier: 'after' } },
      );
      await tenant.write({ timestamp: at - DAY, consumer: { identifier: 'after' } });
    });

    it.each([
      ['2026-03-04T05:06:07.890Z', ['after', 'at']],
      ['2026-03-04T05:06:07.891Z', ['after']],
      ['2026-03-04T05:06:07.889999Z', ['after', 'at', 'before']],
      ['2026-03-04T05:06:07.890', ['after', 'at']],
      ['2026-03-04 07:06:07.890+02:00', ['after', 'at']],
      ['2026-03-04', ['after', 'at', 'before']],
      ['2026-03-05', ['after']],
      ['2099-01-01', []],
      ['0001-01-01', ['after', 'at', 'before']],
      ['9999-12-31T23:59:59-12:00', []],
    ])('%s', async (requests_since, expected) => {
      expect(names((await tenant.consumers({ requests_since })).data)).toEqual(expected);
    });

    it('leaves out consumers that made no request at all', async () => {
      const row = { app_id: tenant.appId, id: 1_000_001, identifier: 'idle', name: 'idle', group_id: 0 };
      await app.store.insert('consumers_v1', [JSON.stringify({ ...row, created_at: '2026-01-02 03:04:05' })]);
      expect(names((await tenant.consumers({ requests_since: '0001-01-01' })).data)).toEqual([
        'after',
        'at',
        'before',
      ]);
    });

    it('does not take the times of another app for this one', async () => {
      const sibling = await tenant.sibling();
      await sibling.write({ consumer: { identifier: 'before' } });
      expect(names((await tenant.consumers({ requests_since: '2026-03-05' })).data)).toEqual(['after']);
    });
  });

  describe('404', () => {
    beforeAll(startOver);

    it.each([1_999_999_999, '99999999999999999999'])('for the app %s', async (id) => {
      const response = await app.get(`/v1/apps/${id}/consumers`, tenant.key);
      expect([response.status, response.text]).toEqual([404, '{"detail":"App not found"}']);
    });
  });
});
