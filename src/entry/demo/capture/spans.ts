import type { CapturedSpan } from '../../../records/capture.js';
import type { DemoRequest } from '../demo-request.js';
import type { Random } from '../../../shared/random.js';
import { type Step, createSteps } from './steps.js';

const NS_PER_MS = 1_000_000n;

/** A range of time in nanoseconds since the epoch. */
interface TimeRange {
  start: bigint;
  end: bigint;
}

/** The request's span and, within it, a span for each step; parents come before their children. */
export function createSpans(random: Random, request: DemoRequest, rootId: string): CapturedSpan[] {
  const start = BigInt(request.timestamp) * NS_PER_MS + BigInt(random.integer(0, 999_999));
  const took = BigInt(request.response_time_ms) * NS_PER_MS - BigInt(random.integer(0, 900_000));
  const whole = { start, end: start + took };
  const root: Step = {
    name: `${request.method} ${request.path ?? ''}`,
    kind: 'SERVER',
    share: 1,
    failed: request.status_code >= 500,
    attributes: {
      'http.request.method': request.method,
      'http.route': request.path,
      'http.response.status_code': request.status_code,
      'server.address': new URL(request.url).host,
      'network.protocol.version': '1.1',
      'shop.flags': { new_checkout: random.chance(0.5), sampling: 0.25, cohorts: ['a', 'c'] },
    },
  };
  return [
    createSpan(root, rootId, null, whole),
    ...createChildSpans(random, createSteps(random, request), rootId, whole),
  ];
}

/** Spans of consecutive steps inside a range, each with its inner steps. */
function createChildSpans(
  random: Random,
  steps: readonly Step[],
  parentId: string,
  { start, end }: TimeRange,
): CapturedSpan[] {
  const total = Number(end - start);
  let from = start + part(total, 0.02);
  return steps.flatMap((step) => {
    const range = { start: from, end: from + part(total, step.share) };
    from = range.end + part(total, 0.01);
    const id = random.hex(16);
    return [createSpan(step, id, parentId, range), ...createChildSpans(random, step.steps ?? [], id, range)];
  });
}

function part(total: number, share: number): bigint {
  return BigInt(Math.floor(total * share));
}

function createSpan(
  step: Step,
  span_id: string,
  parent_span_id: string | null,
  { start, end }: TimeRange,
): CapturedSpan {
  return {
    span_id,
    parent_span_id,
    name: step.name,
    kind: step.kind,
    start_time_ns: start,
    end_time_ns: end,
    duration_ns: end - start,
    status: step.failed ? 'ERROR' : step.kind === 'CLIENT' ? 'OK' : 'UNSET',
    attributes: step.attributes,
  };
}
