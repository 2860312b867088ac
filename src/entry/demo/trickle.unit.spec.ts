import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseNdjsonLine } from '../../sources/lines/formats/ndjson.parser.js';
import { DAY_MS } from '../../shared/time/units.js';
import { withCapture } from './capture/capture.js';
import { requestsBetween } from './generator.js';
import { startTrickle } from './trickle.js';
import { SLOT_MS } from './traffic-curve.js';

const BUSY = Date.UTC(2026, 10, 18, 14, 10);

describe('the requests that the demo sends while it runs', () => {
  it('are those that the next start would load, each sent once', async () => {
    const received: { token: string | undefined; body: string }[] = [];
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        received.push({ token: request.headers.authorization, body });
        response.writeHead(received.length === 1 ? 503 : 200).end('{}');
        server.emit('received');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    // A busy hour: at night there may be none.
    const begun = performance.now();
    jest.spyOn(Date, 'now').mockImplementation(() => Math.floor(BUSY + performance.now() - begun));
    const now = BUSY;
    const origin = now - 395 * DAY_MS;
    const since = now - SLOT_MS + 60_000;
    const { port } = server.address() as AddressInfo;
    const stop = startTrickle({ collector: `http://127.0.0.1:${port}`, writeToken: 'apt_1', origin, since });
    // The first is refused, so a later one has the same requests again. In between is one more.
    for (let count = 0; count < 3; count++) await once(server, 'received');
    stop();
    server.close();
    await once(server, 'close');
    const [first, extra, second] = received.map(({ body }) => body.split('\n'));
    expect(extra).toHaveLength(1);
    const more = parseNdjsonLine(extra![0]!);
    expect('record' in more && Math.abs(more.record.timestamp - now)).toBeLessThan(10_000);
    expect(first!.map((line) => parseNdjsonLine(line))).not.toContainEqual(more);
    expect(received[0]!.token).toBe('Bearer apt_1');
    expect(second).toEqual(expect.arrayContaining(first!));
    const expected = [...requestsBetween(now - 2 * SLOT_MS, now, origin)]
      .filter(({ timestamp }) => timestamp > since && timestamp <= now)
      .map(withCapture);
    expect(expected.length).toBeGreaterThan(5);
    const records = first!.map((line) => {
      const result = parseNdjsonLine(line);
      return 'record' in result ? result.record : result;
    });
    const members = Object.keys(records[0]!) as (keyof (typeof expected)[number])[];
    expect(records).toEqual(
      expected.map((record) => Object.fromEntries(members.map((name) => [name, record[name]]))),
    );
  }, 20_000);
});
