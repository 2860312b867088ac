import { type Stats, computeStats } from './stats.js';

/** Something that can run a case: ours over HTTP, the floor, another database. */
export interface Subject {
  name: string;
  /** Runs the `nth` variant of the case; milliseconds. No two samples have the same `nth`. */
  sample(nth: number): Promise<number>;
}

const WARM_UP = 3;
const MIN_SAMPLES = 12;

/**
 * Samples of all subjects in turn, so that other work on the machine affects them alike; who comes first
 * changes with each turn. Ends after the time given, but not before each has some samples.
 *
 * @param from the first `nth`: subjects that are sampled again with others are asked other variants
 */
export async function interleave(
  subjects: readonly Subject[],
  forMs: number,
  from = 0,
): Promise<Record<string, Stats>> {
  const took = new Map<Subject, number[]>(subjects.map((subject) => [subject, []]));
  let nth = from;
  const turn = async (round: number, keep: boolean) => {
    for (let index = 0; index < subjects.length; index++) {
      const subject = subjects[(index + round) % subjects.length]!;
      const ms = await subject.sample(nth++);
      if (keep) took.get(subject)?.push(ms);
    }
  };
  for (let round = 0; round < WARM_UP; round++) await turn(round, false);
  const until = performance.now() + forMs;
  for (let round = 0; round < MIN_SAMPLES || performance.now() < until; round++) await turn(round, true);
  return Object.fromEntries([...took].map(([{ name }, samples]) => [name, computeStats(samples)]));
}
