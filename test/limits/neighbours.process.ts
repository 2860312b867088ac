import { serve } from '../bench/rpc.js';
import { type Impact, Neighbours, type Totals } from './neighbours.js';
import type { Team } from './template.js';

let neighbours: Neighbours | undefined;
const require = (): Neighbours => {
  if (!neighbours) throw new Error('the neighbours were not started');
  return neighbours;
};

/** The neighbours in a process of their own: what the attacker does with its processor must not be in their figures. */
const handlers = {
  start(
    ...given: [teams: readonly Team[], apiUrl: string, collectorUrl: string, headers: Record<string, string>]
  ): void {
    neighbours = new Neighbours(...given);
  },
  stop: (): Promise<Impact> => require().stop(),
  readTotals: (): Promise<Totals[]> => require().readTotals(),
};
export type NeighbourHandlers = typeof handlers;

serve(handlers);
// The paces of an attack that failed go on.
process.once('disconnect', () => process.exit());
