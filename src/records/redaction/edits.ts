import { type Escapes, createLocator } from './escapes.js';
import { MASK } from './mask.js';
import { TextJoiner } from './text-tools.js';

/** The parts of a text that are masked, as offsets: no text is made until all parts are known. */
export class Edits {
  private starts: number[] = [];
  private ends: number[] = [];
  private lastStart = -1;
  private lastEnd = -1;
  private isSorted = true;
  /** The replacements other than the mask, by the beginning of their part. */
  private others: Map<number, string> | undefined;

  get isEmpty(): boolean {
    return this.starts.length === 0;
  }

  /** Adds a part. Parts that overlap or touch become one. */
  add(start: number, end: number, by = MASK): void {
    if (by !== MASK) (this.others ??= new Map()).set(start, by);
    if (start > this.lastEnd || start < this.lastStart) {
      if (start < this.lastStart) this.isSorted = false;
      this.starts.push(start);
      this.ends.push(end);
      this.lastStart = start;
      this.lastEnd = end;
    } else if (end > this.lastEnd) {
      this.ends[this.ends.length - 1] = end;
      this.lastEnd = end;
    }
  }

  /** Adds the edits of a part of this text. */
  addAll(added: Edits, offset = 0): void {
    added.forEach((start, end, by) => {
      this.add(offset + start, offset + end, by);
    });
  }

  /** Adds the edits of a part of this text that was decoded. */
  addDecoded(added: Edits, raw: string, offset: number, escapes: Escapes): void {
    if (added.isEmpty) return;
    const locate = createLocator(raw, escapes);
    added.forEach((start, end, by) => {
      this.add(offset + locate(start), offset + locate(end), by === MASK ? by : escapes.write(by));
    });
  }

  /** The text with its parts masked. */
  apply(text: string): string {
    if (this.isEmpty) return text;
    const joiner = new TextJoiner();
    let done = 0;
    this.forEach((start, end, by) => {
      joiner.add(text.slice(done, start));
      joiner.add(by);
      done = end;
    });
    joiner.add(text.slice(done));
    return joiner.join();
  }

  /** Visits the parts in the order of the text. */
  private forEach(visit: (start: number, end: number, by: string) => void): void {
    this.sort();
    for (const [index, start] of this.starts.entries())
      visit(start, this.ends[index] ?? start, this.others?.get(start) ?? MASK);
  }

  private sort(): void {
    if (this.isSorted) return;
    const { starts, ends } = this;
    const order = Array.from(starts, (_, index) => index).sort((a, b) => (starts[a] ?? 0) - (starts[b] ?? 0));
    this.starts = [];
    this.ends = [];
    this.lastStart = this.lastEnd = -1;
    this.isSorted = true;
    for (const index of order) this.add(starts[index] ?? 0, ends[index] ?? 0);
  }
}
