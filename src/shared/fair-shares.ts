/** A part of the shared amount that one team has. */
export interface Holder {
  /** Undefined: no particular team; all such holders count as one team. */
  readonly team: number | undefined;
  readonly amount: number;
  /** Milliseconds for which the holder has waited for its client so far. */
  waitedMs(): number;
  /** Ends the holder, because another team needs its part. */
  end(): void;
}

/** No part is free: either the team itself has too much, or the others have all. */
export class NoRoom extends Error {
  constructor(readonly because: 'team' | 'others') {
    super(`no room, because of ${because}`);
  }
}

/**
 * An amount that teams share. One team may have all of it, but as soon as another asks, each has an equal
 * share: the team that is furthest above its share gives up the holder that has waited longest for its
 * client; if several waited equally long, the last of them.
 */
export class FairShares {
  private readonly holders = new Set<Holder>();
  private total = 0;

  /** @param leastShare the share that every team keeps, however many teams ask */
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
      const teamAmount = sum(this.groupByTeam().get(holder.team) ?? []);
      if (teamAmount > 0 && teamAmount + holder.amount > share) throw new NoRoom('team');
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
    return largest.reduce((slowest, holder) => (holder.waitedMs() >= slowest.waitedMs() ? holder : slowest));
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
  for (const holder of holders) amount += holder.amount;
  return amount;
}
