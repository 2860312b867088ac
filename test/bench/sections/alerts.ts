import { median } from '../load/stats.js';
import { readProcessorSeconds } from '../machine.js';
import { type Options, wants } from '../options.js';
import { progress } from '../report/progress.js';
import type { Service } from '../service.js';

const MINUTE_MS = 60_000;
const RULES = 1_000;
/** The first one loads what the others find in memory. */
const EVALUATIONS = 6;

/** What the rules of alerts take each minute. */
export interface AlertsCost {
  rules: number;
  /** Those that had something to evaluate in the last window. */
  values: number;
  /** Seconds of processor time of one evaluation of all rules, the median. */
  processorSeconds: number;
  /** Milliseconds of that evaluation. */
  ms: number;
}

/** @param anchor the newest time in the data */
export async function measureAlerts(
  service: Service,
  options: Options,
  anchor: number,
): Promise<AlertsCost | undefined> {
  if (!wants(options, 'alerts')) return undefined;
  progress(`${RULES} rules of alerts`);
  await service.server.call('createRules', RULES);
  const costs: { seconds: number; ms: number }[] = [];
  for (let nth = 1; nth <= EVALUATIONS; nth++) {
    const [processor, startedAt] = [readProcessorSeconds(service.server.pid), performance.now()];
    await service.server.call('evaluateRules', anchor + (nth - EVALUATIONS) * MINUTE_MS);
    const ms = performance.now() - startedAt;
    costs.push({ seconds: readProcessorSeconds(service.server.pid) - processor, ms });
  }
  const { states, values } = await service.server.call('countStates', anchor);
  if (states !== RULES || values === 0)
    throw new Error(`${states} rules were evaluated, ${values} have a value`);
  await service.server.call('deleteRules');
  const [, ...warm] = costs;
  return {
    rules: RULES,
    values,
    processorSeconds: median(warm.map(({ seconds }) => seconds)),
    ms: median(warm.map(({ ms }) => ms)),
  };
}
