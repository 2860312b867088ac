import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '../rpc.js';

let headers: Record<string, string> = {};
let body = '';

/** Node's own server and nothing else: what a framework and a service can at best come near to. */
const server = createServer((_, response) => {
  response.writeHead(200, headers).end(body);
});

const handlers = {
  /** Listens, and from then on answers everything with these bytes; the port. */
  listen: (answer: { headers: Record<string, string>; body: string }): Promise<number> => {
    ({ headers, body } = answer);
    return new Promise((ok) => {
      server.listen(0, '127.0.0.1', () => {
        ok((server.address() as AddressInfo).port);
      });
    });
  },
};
export type PlainHandlers = typeof handlers;

serve(handlers);
process.once('disconnect', () => process.exit(0));
