/** A part of what is shared, in the hands of one team. */
export interface Holder {
  /** Undefined: of nobody in particular; all of these count as one team. */
  readonly team: number | undefined;
  readonly amount: number;
  /** Milliseconds for which it has waited for its client so far. */
  waitedMs(): number;
  /** Ends it, because another team needs its part. */
  end(): void;
}

/** There is no room: because of what the team has itself, or because of the others. */
export class NoRoom extends Error {
  constructor(readonly because: 'team' | 'others') {
    super(`no room, because of ${because}`);
  }
}

/**
 * Something that teams share. One team may have all of it, but as soon as another asks, each has an equal
 * share: of the team that is furthest above it, the holder that waited longest for its client makes room, of
 * equal ones the last.
 */
export class FairShares {
  private readonly holders = new Set<Holder>();
  private total = 0;

  /** @param leastShare that every team keeps, however many ask */
  constructor(
    private readonly capacity: number,
    private readonly leastShare = 0,
  ) {}

  get used(): number {
    return this.total;
  }

  /**
   * Takes a part, and returns what gives it back. What is larger than all there is gets it where nobody has
   * any.
   *
   * @throws NoRoom
   */
  take(holder: Holder): () => void {
    const fits = () => this.holders.size === 0 || this.total + holder.amount <= this.capacity;
    if (!fits()) {
      const share = Math.max(this.leastShare, this.capacity / this.groupByTeam(holder.team).size);
      const own = sum(this.groupByTeam().get(holder.team) ?? []);
      if (own > 0 && own + holder.amount > share) throw new NoRoom('team');
      while (!fits()) {
        const victim = this.findVictim(holder.team, share);
        if (!victim) throw new NoRoom('others');
        this.remove(victim);
        victim.end();
      }
    }
    this.holders.add(holder);
    this.total += holder.amount;
    return () => {
      this.remove(holder);
    };
  }

  private remove(holder: Holder): void {
    if (this.holders.delete(holder)) this.total -= holder.amount;
  }

  private findVictim(asking: number | undefined, share: number): Holder | undefined {
    const groups = this.groupByTeam();
    groups.delete(asking);
    const [largest] = [...groups.values()].sort((a, b) => sum(b) - sum(a));
    if (!largest || sum(largest) <= share) return undefined;
    return largest.reduce((slowest, one) => (one.waitedMs() >= slowest.waitedMs() ? one : slowest));
  }

  private groupByTeam(...more: (number | undefined)[]): Map<number | undefined, Holder[]> {
    const groups = new Map<number | undefined, Holder[]>(more.map((team) => [team, []]));
    for (const holder of this.holders) {
      const group = groups.get(holder.team);
      if (group) group.push(holder);
      else groups.set(holder.team, [holder]);
    }
    return groups;
  }
}

function sum(holders: Iterable<Holder>): number {
  let amount = 0;
  for (const one of holders) amount += one.amount;
  return amount;
}
