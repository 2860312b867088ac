import crypto from 'node:crypto';
import { keysIn, mustNotAppear } from './run.js';

const LEARNT = Symbol.for('request-analytics:learnt');

type Learning = typeof crypto.createHash & { [LEARNT]?: Set<string> };

/**
 * One of Jest's `setupFiles`: whoever makes or checks an API key takes its hash, and that is where the run learns of every
 * key that must not appear. The module is one for all test files of a worker.
 */
const original = crypto.createHash as Learning;
if (!original[LEARNT]) {
  const learnt = new Set<string>();
  const learning: Learning = (...given: Parameters<typeof crypto.createHash>) => {
    const hash = original(...given);
    const update = hash.update.bind(hash) as (...data: unknown[]) => crypto.Hash;
    return Object.assign(hash, {
      update: (...data: unknown[]) => {
        learn(data[0], learnt);
        return update(...data);
      },
    });
  };
  learning[LEARNT] = learnt;
  Object.assign(crypto, { createHash: learning });
}

function learn(data: unknown, learnt: Set<string>) {
  if (typeof data !== 'string' || data.length !== 40 || learnt.has(data)) return;
  learnt.add(data);
  mustNotAppear(...keysIn(data));
}
