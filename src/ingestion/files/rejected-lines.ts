const LINES_SHOWN = 5;
/** Reasons are few, because they contain member names and rules but no text of a line. */
const MAX_REASONS = 1_000;
const OTHER_REASONS = 'other reasons';

/** Lines that were rejected for one reason. */
export interface RejectedLines {
  readonly reason: string;
  count: number;
  /** The first line numbers, with their files if there are several. */
  readonly first: (number | string)[];
}

/** Groups rejected lines by their reason. */
export class RejectedLineGroups {
  private readonly groups = new Map<string, RejectedLines>();

  add(place: number | string, given: string): void {
    const reason = this.groups.has(given) || this.groups.size < MAX_REASONS ? given : OTHER_REASONS;
    const group = this.groups.get(reason) ?? { reason, count: 0, first: [] };
    this.groups.set(reason, group);
    group.count += 1;
    if (group.first.length < LINES_SHOWN) group.first.push(place);
  }

  /** All groups, largest first. */
  list(): RejectedLines[] {
    return [...this.groups.values()].sort((one, other) => other.count - one.count);
  }
}
