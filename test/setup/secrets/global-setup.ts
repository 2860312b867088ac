import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names the directory of a run of Jest; set before its workers start. */
export const RUN_VARIABLE = 'REQUEST_ANALYTICS_TEST_RUN';

/** Makes a directory for what the product says in this run, and for what it must not say. */
export default function setUp(): void {
  process.env[RUN_VARIABLE] = mkdtempSync(join(tmpdir(), 'request-analytics-run-'));
}
