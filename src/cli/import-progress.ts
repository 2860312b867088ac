import { Presets, SingleBar } from 'cli-progress';
import { tell } from './output.js';

const LINE_EVERY_MS = 5_000;

/** How far an import or an export is, on standard error: a bar on a terminal, a line now and then elsewhere. */
export class ImportProgress {
  private readonly bar?: SingleBar;
  private told = Date.now();

  /**
   * @param totalBytes size of the source, or of whatever it is measured by; null when it is not known.
   * @param done what is said of lines
   */
  constructor(
    private readonly totalBytes: number | null,
    private readonly done = 'read',
  ) {
    if (totalBytes === null || !process.stderr.isTTY) return;
    this.bar = new SingleBar(
      {
        stream: process.stderr,
        format: '{bar} {percentage}% | {lines} lines | {eta_formatted} left',
        hideCursor: true,
      },
      Presets.shades_classic,
    );
    this.bar.start(totalBytes, 0, { lines: 0 });
  }

  update(bytesRead: number, lines: number): void {
    this.bar?.update(bytesRead, { lines });
    if (this.bar || Date.now() - this.told < LINE_EVERY_MS) return;
    this.told = Date.now();
    const share = this.totalBytes ? ` (${Math.floor((100 * bytesRead) / this.totalBytes)}%)` : '';
    tell(`${lines} lines ${this.done}${share}`);
  }

  stop(): void {
    this.bar?.stop();
  }
}
