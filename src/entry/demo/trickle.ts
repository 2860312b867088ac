import { randomUUID } from 'node:crypto';
import { DAY_MS } from '../../shared/time/units.js';
import { createCapture } from './capture/capture.js';
import type { DemoRequest } from './demo-request.js';
import { EXCLUDED } from './endpoints.js';
import { requestsBetween, requestsOfSlot } from './generator.js';
import { SLOT_MS } from './traffic-curve.js';

const EVERY_MS = 5_000;
/** At night the sample has a request in ten minutes, so visitors of the first half-hour get some more. */
const EXTRA_EVERY_MS = 20_000;
const MAX_EXTRA = 90;
/** Hours of the day before (UTC) that the additional requests are like. */
const BUSY_FROM_MS = 12 * 3_600_000;
const BUSY_TO_MS = 16 * 3_600_000;

interface TrickleTarget {
  /** Address of the collector. */
  readonly collector: string;
  readonly writeToken: string;
  /** Beginning of the sample, milliseconds since the epoch. */
  readonly origin: number;
  /** All requests are later. */
  readonly since: number;
}

/**
 * Sends the sample's requests as their times come, until the returned function is called. They are those that
 * the next start would load, with the same UUIDs, so none is stored twice; what cannot be sent is left to
 * that start. In the first half-hour, 90 others are sent in between.
 */
export function startTrickle(target: TrickleTarget): () => void {
  let sentUntil = target.since;
  let isSending = false;
  let extraAt = target.since;
  const extra = listExtra(target);
  const sendDue = async () => {
    if (isSending) return;
    isSending = true;
    const now = Date.now();
    // After the sleep of a laptop only the last slot is sent.
    const due = listDue(Math.max(sentUntil, now - SLOT_MS), now, target.origin);
    if (due.length === 0 || (await send(target, due))) sentUntil = now;
    const like = now - extraAt >= EXTRA_EVERY_MS ? extra.shift() : undefined;
    if (like) {
      extraAt = now;
      await send(target, [{ ...like, request_uuid: randomUUID(), timestamp: now }]);
    }
    isSending = false;
  };
  void sendDue();
  const clock = setInterval(() => void sendDue(), EVERY_MS).unref();
  return () => {
    clearInterval(clock);
  };
}

/** The requests after `from`, up to and including `to`; both are at most a slot apart. */
function listDue(from: number, to: number, origin: number): DemoRequest[] {
  const slots = new Set([from, to].map((time) => Math.floor(time / SLOT_MS) * SLOT_MS));
  return [...slots]
    .flatMap((slot) => requestsOfSlot(slot, origin))
    .filter(({ timestamp }) => timestamp > from && timestamp <= to);
}

/** Requests that the additional ones are like, all of them to be seen in the request logs. */
function listExtra({ origin, since }: TrickleTarget): DemoRequest[] {
  const day = (Math.floor(since / DAY_MS) - 1) * DAY_MS;
  return [...requestsBetween(day + BUSY_FROM_MS, day + BUSY_TO_MS, origin)]
    .filter(({ path, excluded_from_logs }) => !excluded_from_logs && path !== EXCLUDED.path)
    .slice(0, MAX_EXTRA);
}

/** Whether the collector has stored them. */
async function send({ collector, writeToken }: TrickleTarget, requests: DemoRequest[]): Promise<boolean> {
  try {
    const response = await fetch(`${collector}/v1/requests`, {
      method: 'POST',
      headers: { authorization: `Bearer ${writeToken}`, 'content-type': 'application/x-ndjson' },
      body: requests.map(toLine).join('\n'),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/** A request as a line of `POST /v1/requests`. */
function toLine(request: DemoRequest): string {
  const { timestamp, userAgent, ...members } = request;
  const head = JSON.stringify({
    ...members,
    timestamp: new Date(timestamp).toISOString(),
    user_agent: userAgent,
  });
  const capture = createCapture(request);
  // As text, because times of spans have more digits than a number.
  return capture === '' ? head : `${head.slice(0, -1)},${capture.slice(1)}`;
}
