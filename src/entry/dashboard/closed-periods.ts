/**
 * Prefix of all names in storage: other pages of the origin use the storage as well, possibly this page below
 * another path.
 */
export const PLACE = new URL('.', location.href).pathname;
/** The list of stored entries, the least recently used first. */
const INDEX = `${PLACE}closed-periods`;
/**
 * Browsers give an origin at least five million characters; the page itself only stores the key and these.
 */
const MAX_CHARACTERS = 2_000_000;

/**
 * Aggregates of complete periods in `sessionStorage`, so that a reload of the tab does not request them
 * again. Not the Cache API: it only takes responses to GET, outlives the tab, and needs HTTPS. Request logs
 * are not stored: headers and bodies stay in memory.
 */
export class ClosedPeriods {
  /** Number of characters by ID. */
  private readonly sizes = new Map<string, number>(
    JSON.parse(sessionStorage.getItem(INDEX) ?? '[]') as [string, number][],
  );
  private isEnded = false;

  get(id: string): unknown {
    const text = this.sizes.has(id) ? sessionStorage.getItem(PLACE + id) : null;
    if (text === null) return undefined;
    this.sizes.delete(id);
    this.sizes.set(id, text.length);
    this.saveIndex();
    return JSON.parse(text);
  }

  /**
   * Makes room by dropping the least recently used entries. A value larger than all the room is not stored.
   */
  set(id: string, value: unknown): void {
    const text = JSON.stringify(value);
    if (this.isEnded || text.length > MAX_CHARACTERS) return;
    this.remove(id);
    while (!this.write(id, text)) {
      const [oldest] = this.sizes.keys();
      if (oldest === undefined) return;
      this.remove(oldest);
    }
  }

  clear(): void {
    for (const id of [...this.sizes.keys()]) this.remove(id);
    sessionStorage.removeItem(INDEX);
  }

  /** Called when the key is no longer used: later values are not stored. */
  end(): void {
    this.isEnded = true;
    this.clear();
  }

  /** Whether there was room, here and in the browser. */
  private write(id: string, text: string): boolean {
    const used = [...this.sizes.values()].reduce((sum, size) => sum + size, 0);
    if (used + text.length > MAX_CHARACTERS) return false;
    try {
      sessionStorage.setItem(PLACE + id, text);
      this.sizes.set(id, text.length);
      this.saveIndex();
      return true;
    } catch {
      this.remove(id);
      return false;
    }
  }

  private remove(id: string): void {
    this.sizes.delete(id);
    sessionStorage.removeItem(PLACE + id);
  }

  private saveIndex(): void {
    sessionStorage.setItem(INDEX, JSON.stringify([...this.sizes]));
  }
}
