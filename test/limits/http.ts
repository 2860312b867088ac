/** Longer than a response takes on the busiest machine: what comes later counts as none. */
const HANG_MS = 120_000;

/** A response, or its absence. */
export interface Sample {
  /** 0: no response at all. */
  status: number;
  headers: Headers;
  text: string;
  ms: number;
}

/** Sends one request and reads its response; never rejects. */
export async function request(url: string, init: RequestInit = {}): Promise<Sample> {
  const startedAt = performance.now();
  const sample = { status: 0, headers: new Headers(), text: '' };
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(HANG_MS) });
    sample.headers = response.headers;
    sample.text = await response.text();
    sample.status = response.status;
  } catch (error) {
    sample.text = error instanceof Error ? error.message : String(error);
  }
  return { ...sample, ms: performance.now() - startedAt };
}

/** How many samples had each status, in the order of the statuses. */
export function countByStatus(samples: readonly Pick<Sample, 'status'>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of samples) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
