import { deserialize, serialize } from 'node:v8';
import type { Message } from '../../write/batches/message.js';
import { RejectedEntries } from '../../write/batches/rejected-entries.js';
import type { Slices } from '../../shared/async/slices.js';
import { chunk } from '../../shared/chunk.js';
import type { WaitingStatements } from '../../write/batches/inner-spans.js';
import type { ParsedBody } from './body-parser.js';

/** The lists of a message: there may be hundreds of thousands of records in them. */
const LISTS = ['names', 'counts', 'logs', 'spans', 'logMessages', 'spanCounts', 'points', 'errors'] as const;
/** Reading a part is one step. A single record may have more characters. */
const RECORDS_IN_PART = 100;
const CHARACTERS_IN_PART = 1024 * 1024;

/** Records of a list of a message. */
interface Records {
  readonly message: number;
  readonly list: (typeof LISTS)[number];
  readonly records: readonly unknown[];
}

type Item = Pick<ParsedBody, 'waiting'> | Message | Records;

/**
 * Encodes a parsed body for another thread, in parts that are read one by one: first what its spans say of
 * other requests, then the messages without their lists, then the records of these lists.
 */
export function* encodeParts({ messages, waiting }: ParsedBody): Generator<Uint8Array<ArrayBuffer>> {
  const empty = Object.fromEntries(LISTS.map((list) => [list, []]));
  yield serialize([{ waiting }] satisfies Item[]);
  for (const some of chunk(messages, RECORDS_IN_PART))
    yield serialize(some.map((message) => ({ ...message, ...empty })));
  let part: Records[] = [];
  let size = 0;
  for (const [message, lists] of messages.entries())
    for (const list of LISTS) {
      let records: unknown[] = [];
      for (const record of lists[list]) {
        if (records.length === 0) part.push({ message, list, records });
        records.push(record);
        size += 1 / RECORDS_IN_PART + countCharacters(record) / CHARACTERS_IN_PART;
        if (size < 1) continue;
        yield serialize(part);
        [part, records, size] = [[], [], 0];
      }
    }
  if (part.length > 0) yield serialize(part);
}

/** Of the texts of a record: its long ones are members of its own. */
function countCharacters(record: object): number {
  let count = 0;
  for (const value of Object.values(record)) if (typeof value === 'string') count += value.length;
  return count;
}

/** Decodes what `encodeParts` made, and takes the parts out of the list, so that their memory is freed. */
export async function decodeParts(parts: Uint8Array[], work: Slices): Promise<ParsedBody> {
  const messages: Message[] = [];
  let waiting: WaitingStatements = new Map();
  for (let part = parts.shift(); part; part = parts.shift()) {
    for (const item of deserialize(part) as Item[])
      if ('waiting' in item) waiting = item.waiting;
      else if ('list' in item) addRecords(messages, item);
      else messages.push({ ...item, rejected: Object.assign(new RejectedEntries(), item.rejected) });
    if (work.isOver) await work.giveWay();
  }
  return { messages, waiting };
}

function addRecords(messages: readonly Message[], { message, list, records }: Records): void {
  (messages[message]?.[list] as unknown[] | undefined)?.push(...records);
}
