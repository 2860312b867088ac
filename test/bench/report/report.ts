import type { CollectorRates, OtlpRate } from '../sections/collector.js';
import type { ImportGrowth } from '../sections/import-growth.js';
import type { Operation } from '../sections/operations.js';
import { figure, table } from './markdown.js';
import { type SessionsRate, computePerSecond } from '../sections/sessions.js';
import type { Requests } from '../side-by-side/keeper.js';
import type { Results } from './results.js';
import {
  bytesRatio,
  checkTargets,
  findFewestKnown,
  growth,
  importGrowthRatio,
  peerRatio,
  toFloor,
} from './targets.js';

const MB = 2 ** 20;
const MORE_CORES = [4, 8, 16];

/** The whole report as Markdown. */
export function report(results: Results): string {
  return [
    heading(results),
    operations(results),
    others(results),
    sideBySide(results),
    sizes(results),
    targets(results),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function heading({ machine, at, rows, smallRows, peers }: Results): string {
  const { cpu, cores, memoryGiB, node, load } = machine;
  return [
    `${at}: ${figure(rows)} rows${smallRows === undefined ? '' : `, growth against ${figure(smallRows)}`}`,
    `${cores} cores (${cpu}), ${memoryGiB} GiB, Node ${node}, load at the start ${load}${peers.map((peer) => `, ${peer}`).join('')}`,
    'Milliseconds. HTTP: the service, whole. Floor: the same statements through the client in the same engine, no HTTP.',
  ].join('\n');
}

function operations({ operations: all, smallRows, peers }: Results): string {
  if (all.length === 0) return '';
  const extra = [...(smallRows === undefined ? [] : [GROWTH]), ...(peers.length === 0 ? [] : PEERS)];
  const columns = [...BASE, ...extra];
  return table(
    columns.map(([name]) => name),
    all.map((row) => columns.map(([, cell]) => cell(row))),
  );
}

type Column = readonly [name: string, cell: (operation: Operation) => string];

const BASE: readonly Column[] = [
  [
    'Operation',
    ({ title, differences }) => (differences === '' ? title : `${title} (ROWS DIFFER: ${differences})`),
  ],
  ['records', ({ records }) => String(records)],
  ['p50', ({ stats }) => figure(stats.http?.p50)],
  ['p95', ({ stats }) => figure(stats.http?.p95)],
  ['queries/s', ({ stats }) => figure(1000 / (stats.http?.mean ?? NaN))],
  ['floor p50', ({ stats }) => figure(stats.floor?.p50)],
  ['HTTP/floor', (operation) => figure(toFloor(operation))],
];
const GROWTH: Column = ['growth', (operation) => figure(growth(operation))];
const PEERS: readonly Column[] = [
  ['PostgreSQL p50', ({ besidePeers }) => figure(besidePeers.postgres?.p50)],
  ['PostgreSQL/floor', (operation) => figure(peerRatio(operation, 'postgres'))],
  ['DuckDB p50', ({ besidePeers }) => figure(besidePeers.duckdb?.p50)],
  ['DuckDB/floor', (operation) => figure(peerRatio(operation, 'duckdb'))],
];

function others({
  machine,
  atOnce,
  sessions,
  beside,
  exports,
  team,
  dashboard,
  alerts,
  startUp,
  afterMb,
  imports,
  importGrowth,
  collector,
}: Results): string {
  const rows = [
    ...atOnce.map(({ title, concurrency, httpPerSecond, floorPerSecond, p95 }) => [
      `${title}, ${concurrency} at once`,
      `${figure(httpPerSecond)}/s, p95 ${figure(p95)} ms`,
      `floor ${figure(floorPerSecond)}/s`,
      figure(httpPerSecond / floorPerSecond),
    ]),
    ...sessions.map((rate) => listSessions(rate, sessions)),
    ...computeForCores(sessions, machine.cores),
    ...(beside
      ? [
          [
            `p95 of ${beside.fast} beside ${beside.slow}`,
            figure(beside.besideP95, 'ms'),
            `alone ${figure(beside.aloneP95)} ms`,
            figure(beside.besideP95 / beside.aloneP95),
          ],
        ]
      : []),
    ...(exports?.formats ?? []).map(({ format, rows, bytes, firstByteMs, peakMb, ...rate }) => [
      `export of ${figure(rows)} rows as ${format} (${figure(bytes / MB)} MB)`,
      `${figure(rate.rowsPerSecond)} rows/s, ${figure(rate.rowsPerProcessorSecond)} of one core's time`,
      `first byte ${figure(firstByteMs)} ms, at most ${figure(peakMb)} MB`,
      '',
    ]),
    ...(exports
      ? [
          [
            'p95 of a page beside an export',
            figure(exports.pageBesideP95, 'ms'),
            `alone ${figure(exports.pageAloneP95)} ms`,
            figure(exports.pageBesideP95 / exports.pageAloneP95),
          ],
        ]
      : []),
    ...Object.entries(team?.barePerSecond ?? {}).map(([kind, perSecond]) => [
      'Get Team, 32 connections',
      `${figure(team?.teamPerSecond)}/s`,
      `bare ${kind} ${figure(perSecond)}/s`,
      figure((team?.teamPerSecond ?? NaN) / perSecond),
    ]),
    ...Object.entries(dashboard ?? {}).map(([visit, times]) => [
      `first chart of the dashboard, ${visit === 'first' ? 'first visit' : 'files cached'}`,
      `${figure(times.chart)} ms from the start, ${figure(times.chart - times.loaded)} ms after load`,
      `load ${figure(times.loaded)}; apps ${figure(times.appsSent)} to ${figure(times.appsReceived)}; metrics ${figure(times.seriesSent)} to ${figure(times.seriesReceived)}`,
      '',
    ]),
    ...(alerts
      ? [
          [
            `alerts, an evaluation of ${figure(alerts.rules)} rules`,
            `${figure(alerts.processorSeconds)} s of a core`,
            `in ${figure(alerts.ms)} ms`,
            '',
          ],
        ]
      : []),
    ...(startUp ? [['start-up', figure(startUp.ms, 'ms'), '', '']] : []),
    ...(startUp
      ? [['memory idle, after the run', figure(startUp.idleMb, 'MB'), `after ${figure(afterMb)} MB`, '']]
      : []),
    ...imports.map(({ lines, fileBytes, linesPerSecond, peakMb, engine }) => [
      `import of ${figure(lines)} lines (${figure(fileBytes / MB)} MB), at most ${figure(peakMb)} MB`,
      `${figure(linesPerSecond)} lines/s`,
      `engine alone, from the file ${figure(engine.linesPerSecond)} lines/s, ${figure(engine.processorMicroseconds)} µs of a core a line`,
      figure(linesPerSecond / engine.linesPerSecond),
    ]),
    ...importGrowth.map((measurement) => listImportGrowth(measurement, importGrowth)),
    ...listCollector(collector ?? {}),
  ];
  return rows.length === 0 ? '' : table(['What', 'measured', 'beside it', 'ratio'], rows);
}

function listSessions(rate: SessionsRate, all: readonly SessionsRate[]): string[] {
  const { id, title, concurrency, sessions, perSecond, p95, processorMs, javascriptMs } = rate;
  const fewest = all.find((other) => other.id === id);
  return [
    `${title}, ${concurrency} at once, ${sessions} sessions`,
    `${figure(perSecond)}/s, p95 ${figure(p95)} ms`,
    `${figure(processorMs)} ms of a core a query, ${figure(javascriptMs)} of them JavaScript; with ${fewest?.sessions} sessions ${figure(fewest?.perSecond)}/s`,
    figure(perSecond / (fewest?.perSecond ?? NaN)),
  ];
}

/**
 * From the processor times with the fastest number of sessions. They are compared with what is computed for
 * this machine: what it measured has the load of others in it, and of the benchmark's client.
 */
function computeForCores(all: readonly SessionsRate[], cores: number): string[][] {
  return [...new Set(all.map(({ id }) => id))].flatMap((id) => {
    const [fastest] = all.filter((rate) => rate.id === id).sort((a, b) => b.perSecond - a.perSecond);
    if (!fastest) return [];
    const here = computePerSecond(fastest, cores);
    return MORE_CORES.map((more) => [
      `${fastest.title}, one process with ${more} cores`,
      `computed: ${figure(computePerSecond(fastest, more))}/s`,
      `with ${cores} cores computed: ${figure(here)}/s, measured ${figure(fastest.perSecond)}/s`,
      figure(computePerSecond(fastest, more) / here),
    ]);
  });
}

function listImportGrowth(measurement: ImportGrowth, all: readonly ImportGrowth[]): string[] {
  const fewest = findFewestKnown(all, measurement);
  return [
    `growth of an import, ${measurement.identities === 'own' ? 'UUIDs of our own' : 'random UUIDs'}: ${whole(measurement.knownCount)} known requests`,
    `${figure(measurement.processorMicroseconds)} µs of a core a line`,
    `with ${whole(fewest?.knownCount ?? NaN)} ${figure(fewest?.processorMicroseconds)} µs`,
    figure(importGrowthRatio(all, measurement)),
  ];
}

function listCollector({ hub, otlp }: CollectorRates): string[][] {
  return [
    ...Object.entries(hub ?? {}).map(([kind, rate]) => [
      `collector, ${kind} messages of 10 rows, one core`,
      `${figure(rate.messages_per_second)} messages/s, ${figure(rate.rows_per_second)} rows/s`,
      `plain insert ${figure(rate.plain_rows_per_second)} rows/s`,
      figure(rate.ratio),
    ]),
    ...(otlp ? listOtlp(otlp) : []),
  ];
}

function listOtlp(otlp: OtlpRate): string[][] {
  return [
    ['spans until their rows are encoded', `${figure(otlp.parsed_spans_per_second)} spans/s`],
    [
      'bodies of 128 requests and 384 other spans',
      `${figure(otlp.stored_requests_per_second)} requests/s, ${figure(otlp.stored_spans_per_second)} spans/s`,
    ],
    ['bodies of 512 requests', `${figure(otlp.stored_requests_alone_per_second)} requests/s`],
  ].map(([signal = '', rate = '']) => [`collector, OTLP ${signal}, one core`, rate, '', '']);
}

function sideBySide({ sides }: Results): string {
  if (sides.length === 0) return '';
  const ours = sides[0]?.cost?.processorMicroseconds ?? NaN;
  const costs = sides.map(({ name, how, cost, installation }) =>
    cost
      ? [
          `${name} (${how})`,
          figure(cost.processorMicroseconds),
          figure(cost.processorMicroseconds / ours),
          figure(cost.peakMb),
          figure(cost.bytesAfter),
          figure(cost.bytesMerged),
        ]
      : [`${name}: not installed (${installation})`],
  );
  const promises = sides.flatMap(({ name, promise }) =>
    promise
      ? [
          [
            name,
            listRequests([promise.killedAtAnswer]),
            listRequests(promise.killedMidway),
            listRequests([promise.again]),
            listRequests([promise.copy]),
          ],
        ]
      : [],
  );
  const lines = whole(sides[0]?.cost?.lines ?? NaN);
  return [
    table(
      [
        `Side by side: ${lines} lines of a combined log`,
        'µs of a core a line',
        'to ours',
        'peak MB',
        'bytes/request just after',
        'after merges',
      ],
      costs,
    ),
    table(
      [
        'Requests counted of 20,000',
        'killed at its answer',
        'killed midway (¼, ½, ¾), file given again',
        'same file twice',
        'and a copy of it',
      ],
      promises,
    ),
  ].join('\n\n');
}

function listRequests(all: readonly Requests[]): string {
  const texts = all.map(({ counted, kept = counted }) =>
    kept === counted ? whole(counted) : `${whole(counted)} (${whole(kept)} in the logs)`,
  );
  return [...new Set(texts)].join(', ');
}

function whole(count: number): string {
  return count.toLocaleString('en-US');
}

function sizes(results: Results): string {
  const { tables, peerBytes } = results;
  if (tables.length === 0) return '';
  const rows = tables.map(({ table: name, parts, rows: count, bytes }) => {
    const peer = peerBytes?.[peerName(name)];
    return [
      name,
      String(parts),
      figure(count),
      figure(bytes / MB),
      figure(bytes / count),
      ...(peerBytes ? [peer?.postgres, peer?.duckdb].map((peerSize = NaN) => figure(peerSize / MB)) : []),
    ];
  });
  const head = [
    'Table',
    'parts',
    'rows',
    'MB',
    'bytes/row',
    ...(peerBytes ? ['PostgreSQL MB', 'DuckDB MB'] : []),
  ];
  const total = peerBytes
    ? `\n\nBytes per request, logs and details, PostgreSQL / ours: ${figure(bytesRatio(results))}`
    : '';
  return table(head, rows) + total;
}

function peerName(name: string): string {
  const base = name.replace(/_v\d+$/, '');
  return base === 'request_details' ? 'request_captures' : base;
}

function targets(results: Results): string {
  const verdicts = { true: 'met', false: 'NOT MET', undefined: 'not measured' };
  const rows = checkTargets(results).map(({ name, target, measured, met }) => [
    name,
    target,
    measured,
    verdicts[`${met}`],
  ]);
  return table(['Target', 'bound', 'measured', 'verdict'], rows);
}
