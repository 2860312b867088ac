/** Rejected parts of an accepted message: entries, and optional members of accepted entries. */
export class RejectedEntries {
  count = 0;
  /** Why the first one was rejected. */
  reason?: string;
  /** The first warning, about a member that was left out. */
  warning?: string;
  /** Counts by invalid field, named as in the protocol. */
  readonly byField = new Map<string, number>();
  /** Number of optional members that were left out, by name. They do not count as entries. */
  readonly members = new Map<string, number>();

  add(reason: string, entries = 1): void {
    this.count += entries;
    this.reason ??= reason;
    const field = rejectedField(reason);
    this.byField.set(field, (this.byField.get(field) ?? 0) + entries);
  }

  addMembers(names: readonly string[]): void {
    for (const name of names) this.members.set(name, (this.members.get(name) ?? 0) + 1);
  }

  /** Records an optional member that was left out; the sender receives the first such reason. */
  warn(reason: string): void {
    this.warning ??= reason;
    this.addMembers([rejectedField(reason)]);
  }
}

/** The field at the beginning of a reason, without line numbers and indexes: `requests[].method`. */
export function rejectedField(reason: string): string {
  const [field = ''] = reason.replace(/^line \d+: /, '').split(':', 1);
  return field.replaceAll(/\[\d+\]/g, '[]');
}
