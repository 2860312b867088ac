import { HttpConnection } from './http-connection.js';
import { median } from './stats.js';

/** Sends requests over `concurrency` connections for `forMs`; the milliseconds that each took. */
export async function httpRound(
  {
    port,
    key,
    path,
    body: sent,
  }: { port: number; key: string; path: (nth: number) => string; body?: object | undefined },
  concurrency: number,
  forMs: number,
): Promise<number[]> {
  const connections = await Promise.all(
    Array.from({ length: concurrency }, () => HttpConnection.open(port, key)),
  );
  const took: number[] = [];
  let nth = 0;
  const until = performance.now() + forMs;
  const worker = async (connection: HttpConnection) => {
    while (performance.now() < until) {
      const startedAt = performance.now();
      const { status, body } = await connection.get(path(nth++), sent);
      if (status !== 200) throw new Error(`${status} ${body.toString()}`);
      // What ends after the round is not of it: the rate is what ended, by the round's length.
      if (performance.now() < until) took.push(performance.now() - startedAt);
    }
  };
  await Promise.all(connections.map(worker));
  for (const connection of connections) connection.close();
  return took;
}

/** Rounds of several kinds in turn; the median of each kind's measure. */
export async function inTurn(kinds: readonly (() => Promise<number>)[], rounds: number): Promise<number[]> {
  const measures: number[][] = kinds.map(() => []);
  for (let round = 0; round < rounds; round++)
    for (const [index, kind] of kinds.entries()) measures[index]?.push(await kind());
  return measures.map(median);
}
