/**
 * Before all names in storage: other pages of the origin use it as well, maybe this one below another path.
 */
export const PLACE = new URL('.', location.href).pathname;
/** The list of what is kept, the least recently used first. */
const INDEX = `${PLACE}closed-periods`;
/** Browsers give an origin five million characters at least; the page's own are the key and these. */
const MAX_CHARACTERS = 2_000_000;

/**
 * Aggregates of periods that are complete, in `sessionStorage`, so that a reload of the tab does not ask for
 * them again. Not the Cache API: it takes only responses to GET, outlives the tab, and needs HTTPS. Request
 * logs are not kept: headers and bodies stay in memory.
 */
export class ClosedPeriods {
  /** Characters by ID. */
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

  /** Drops the least recently used for it. What is larger than the whole room is not kept. */
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

  /** The key is no longer used: what still arrives for it is not kept. */
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
