import { serve } from '../bench/rpc.js';
import { type Impact, Neighbours, type Totals } from './neighbours.js';

let neighbours: Neighbours | undefined;

function requireNeighbours(): Neighbours {
  if (!neighbours) throw new Error('there are no neighbours');
  return neighbours;
}

/**
 * The neighbours in a process of their own: what the attacker does with its processor must not be in their
 * figures.
 */
const handlers = {
  create(...given: ConstructorParameters<typeof Neighbours>): void {
    neighbours = new Neighbours(...given);
  },
  start: (): Promise<void> => requireNeighbours().start(),
  stop: (): Promise<Impact> => requireNeighbours().stop(),
  readTotals: (): Promise<Totals[]> => requireNeighbours().readTotals(),
};
export type NeighbourHandlers = typeof handlers;

serve(handlers);
// Where a test fails they are not stopped.
process.once('disconnect', () => process.exit());
