import type { Side } from '../sections/side-by-side.js';
import { report } from './report.js';
import type { Results } from './results.js';

const NOTHING: Results = {
  machine: { cpu: 'a processor', cores: 2, memoryGiB: 24, node: 'v20', load: 0 },
  at: '2026-11-27T15:00:00.000Z',
  rows: 1_000_000,
  peers: [],
  operations: [],
  atOnce: [],
  sessions: [],
  tables: [],
  imports: [],
  importGrowth: [],
  sides: [],
};
const all = { counted: 20_000, kept: 20_000 };
const OURS: Side = {
  name: 'ours',
  how: 'import',
  cost: { lines: 200_000, processorMicroseconds: 80, peakMb: 500, bytesAfter: 200, bytesMerged: 90 },
  promise: { killedAtAnswer: all, killedMidway: [all, all], again: all, copy: all },
};

/** The cells of the row that begins with a name. */
function findRow(text: string, name: string): string[] | undefined {
  const line = text.split('\n').find((row) => row.startsWith(`| ${name}`));
  return line
    ?.split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

it('compares an import with the one beside the fewest known requests, of the same kind of UUIDs', () => {
  const importGrowth = [
    { identities: 'own', knownCount: 0, processorMicroseconds: 50 },
    { identities: 'own', knownCount: 8_000_000, processorMicroseconds: 52 },
    { identities: 'own', knownCount: 30_000_000, processorMicroseconds: 60 },
    { identities: 'foreign', knownCount: 0, processorMicroseconds: 40 },
    { identities: 'foreign', knownCount: 30_000_000, processorMicroseconds: 80 },
  ] as const;
  const text = report({ ...NOTHING, importGrowth: [...importGrowth] });
  const growth = (of: string) => findRow(text, `growth of an import, ${of}: 30,000,000`)?.[3];
  expect(growth('UUIDs of our own')).toBe('1.20');
  expect(growth('random UUIDs')).toBe('2.00');
  expect(findRow(text, 'import with own UUIDs')?.slice(1)).toEqual(['≤ 1.15', '1.20', 'NOT MET']);
  expect(findRow(text, 'import with foreign UUIDs')?.slice(1)).toEqual(['≤ 1.15', '2.00', 'NOT MET']);
});

it('computes what more cores would give from the fastest number of sessions', () => {
  const rate = { id: 'page', title: 'page', concurrency: 16, p95: 50, processorMs: 5, javascriptMs: 1 };
  const sessions = [
    { ...rate, sessions: 1, perSecond: 200 },
    { ...rate, sessions: 4, perSecond: 300 },
  ];
  const text = report({ ...NOTHING, sessions });
  expect(findRow(text, 'page, 16 at once, 4 sessions')?.[3]).toBe('1.50');
  expect(findRow(text, 'page, one process with 4 cores')?.slice(1)).toEqual([
    'computed: 800/s',
    'with 2 cores computed: 400/s, measured 300/s',
    '2.00',
  ]);
  // The JavaScript thread is the limit.
  expect(findRow(text, 'page, one process with 16 cores')?.[1]).toBe('computed: 1,000/s');
});

it('says how a program is installed that is missing', () => {
  const sides = [OURS, { name: 'GoAccess', how: 'command line', installation: 'apt-get install goaccess' }];
  const text = report({ ...NOTHING, sides });
  expect(text).toContain('GoAccess: not installed (apt-get install goaccess)');
  expect(findRow(text, 'ours (import)')?.slice(1)).toEqual(['80.0', '1.00', '500', '200', '90.0']);
});

it('shows counts and logs apart where they differ, and each outcome once', () => {
  const other: Side = {
    ...OURS,
    name: 'other',
    promise: {
      killedAtAnswer: { counted: 0, kept: 0 },
      killedMidway: [all, { counted: 40_000, kept: 20_000 }, all],
      again: { counted: 40_000, kept: undefined },
      copy: { counted: 60_000, kept: 60_000 },
    },
  };
  const text = report({ ...NOTHING, sides: [OURS, other] });
  const promised = text.slice(text.indexOf('Requests counted'));
  expect(findRow(promised, 'ours')?.slice(1)).toEqual(['20,000', '20,000', '20,000', '20,000']);
  expect(findRow(promised, 'other')?.slice(1)).toEqual([
    '0',
    '20,000, 40,000 (20,000 in the logs)',
    '40,000',
    '60,000',
  ]);
});
