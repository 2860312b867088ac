const LINES_SHOWN = 5;
/** Reasons are few, because they contain member names and rules, but no text of a line. */
const MAX_REASONS = 1_000;
const OTHER_REASONS = 'other reasons';

/** Lines with the same reason for their rejection. */
export interface RejectedLines {
  readonly reason: string;
  count: number;
  /** The first line numbers. */
  readonly first: number[];
  /** Their file, if there are several. */
  readonly file?: string;
}

/** Groups rejected lines by their reason. */
export class RejectedLineGroups {
  private readonly groups = new Map<string, RejectedLines>();

  add(number: number, given: string, file?: string): void {
    const named = file === undefined ? given : `${file}\n${given}`;
    const hasRoom = this.groups.has(named) || this.groups.size < MAX_REASONS;
    const key = hasRoom ? named : OTHER_REASONS;
    const created = { reason: hasRoom ? given : OTHER_REASONS, count: 0, first: [] };
    const group: RejectedLines =
      this.groups.get(key) ?? (hasRoom && file !== undefined ? { ...created, file } : created);
    this.groups.set(key, group);
    group.count += 1;
    if (group.first.length < LINES_SHOWN) group.first.push(number);
  }

  /** All groups, largest first. */
  list(): RejectedLines[] {
    return [...this.groups.values()].sort((a, b) => b.count - a.count);
  }
}
