import type { ClickHouse } from '../../store/client/clickhouse.client.js';
import { Slices } from '../../shared/async/slices.js';
import { chunkForLookup } from '../../shared/chunk.js';
import type { RecordKey } from './message.js';

/** One row of `counted_records_v1`. */
export interface CountedRecordRow {
  app_id: number;
  time_ns: string;
  record_hash: string;
}

/** Columns are qualified by their table: an alias of the same name would hide them. */
const COUNTED = `
SELECT toString(c.record_hash) AS record_hash FROM counted_records_v1 AS c
WHERE c.app_id = {app_id:UInt32} AND c.time_ns IN {times:Array(Int64)} AND c.record_hash IN {hashes:Array(UInt64)}`;

/** Finds the records that were counted before. The caller holds the claims of their instances. */
export class RepeatedRecords {
  constructor(private readonly store: ClickHouse) {}

  /**
   * Those of an app's records that were counted before, in the store or earlier in the list.
   *
   * @param rows gets a row for each of the others
   */
  async find(
    app_id: number,
    records: Iterable<RecordKey>,
    rows: CountedRecordRow[],
  ): Promise<Set<RecordKey>> {
    const distinct = [...new Set(records)];
    const storedRecords = new Set<string>();
    for (const some of chunkForLookup(distinct)) {
      const times = [...new Set(some.map(({ time_ns }) => BigInt.asIntN(64, time_ns)))];
      const hashes = some.map(({ record_hash }) => BigInt(record_hash));
      const params = { app_id, times, hashes };
      for (const { record_hash } of await this.store.rows<{ record_hash: string }>(
        'records.counted',
        COUNTED,
        params,
      ))
        storedRecords.add(record_hash);
    }
    const repeated = new Set<RecordKey>();
    await new Slices().forEach(distinct, (record) => {
      const { time_ns, record_hash } = record;
      if (storedRecords.has(record_hash)) repeated.add(record);
      else rows.push({ app_id, time_ns: BigInt.asIntN(64, time_ns).toString(), record_hash });
      storedRecords.add(record_hash);
    });
    return repeated;
  }
}
