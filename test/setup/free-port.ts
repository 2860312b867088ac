import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that the system gives to connections and to servers without one of their own. */
const FIRST = 20_000;
const PORTS = 12_000;

/** Each worker of Jest has its own part of them, and takes them in turn, beginning at a random one. */
const WORKERS = 8;
const OWN = PORTS / WORKERS;
const start = FIRST + (Number(process.env.JEST_WORKER_ID ?? 0) % WORKERS) * OWN;
let next = Math.floor(Math.random() * OWN);

/** A port that was free a moment ago, and that nothing else takes until a process listens there. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < OWN; tried++) {
    const port = start + (next++ % OWN);
    if (await isFree(port)) return port;
  }
  throw new Error(`No port is free from ${start} on`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
