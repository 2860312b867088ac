import crypto from 'node:crypto';
import { findKeys, forbidInOutput } from './run.js';

const RECORDED = Symbol.for('request-analytics:learnt');

type InterceptedHash = typeof crypto.createHash & { [RECORDED]?: Set<string> };

/**
 * One of Jest's `setupFiles`: each creation and check of an API key or a write token hashes it, and there the
 * run learns of all that must not appear. The module is one for all test files of a worker.
 */
const original = crypto.createHash as InterceptedHash;
if (!original[RECORDED]) {
  const recorded = new Set<string>();
  const learning: InterceptedHash = (...given: Parameters<typeof crypto.createHash>) => {
    const hash = original(...given);
    const update = hash.update.bind(hash) as (...data: unknown[]) => crypto.Hash;
    return Object.assign(hash, {
      update: (...data: unknown[]) => {
        recordKey(data[0], recorded);
        return update(...data);
      },
    });
  };
  learning[RECORDED] = recorded;
  Object.assign(crypto, { createHash: learning });
}

/** The lengths of a key and of a token. */
const LENGTHS = new Set([40, 28]);

function recordKey(data: unknown, recorded: Set<string>) {
  if (typeof data !== 'string' || !LENGTHS.has(data.length) || recorded.has(data)) return;
  recorded.add(data);
  forbidInOutput(...findKeys(data));
}
