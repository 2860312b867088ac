import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseNdjsonLine } from '../../sources/lines/formats/ndjson.parser.js';
import { withCapture } from './capture/capture.js';
import { requestsBetween } from './generator.js';
import { startTrickle } from './trickle.js';
import { DAY_MS, SLOT_MS } from './traffic-curve.js';

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
    const now = Date.now();
    const origin = now - 395 * DAY_MS;
    const since = now - SLOT_MS + 60_000;
    const { port } = server.address() as AddressInfo;
    const stop = startTrickle({ collector: `http://127.0.0.1:${port}`, writeToken: 'apt_1', origin, since });
    // The first is refused, so the next has the same requests again.
    for (let count = 0; count < 2; count++) await once(server, 'received');
    stop();
    server.close();
    await once(server, 'close');
    const [first, second] = received.map(({ body }) => body.split('\n'));
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
